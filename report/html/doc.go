// Package html writes one replay, or several to compare, as a page for people: a single HTML file that needs nothing else,
// and asks the network for nothing.
//
// The page is a view (see view.go) of the reports as JSON, and a bundle of script and style that draws it. The bundle is made
// from report/html/web by `make web` and checked in under dist, so that building scalehist needs no npm; a test fails
// when it was not made from the sources beside it. The same reports give the same bytes: what differs by nature between two
// runs (ReplayReport.Run) is not in the page.
//
// Its words: a Run is a report under a label; a stay is a pod at one place (a node, or waiting) from one offset to another; the
// columns of a view are lists of equal length, an entry of each making one row. All times are whole milliseconds from the
// start of the run. It reads reports and nothing else: no cluster, no history, no test framework.
package html
