// Package view is the terminal app of 'scalehist view': it steps through the decisions of one saved report. A step is a
// decision of the report; it acted when it asked anything of the cloud provider or began to remove a node.
//
// The words about a decision are those of report. The package knows reports and a terminal, no clusters and no
// histories.
package view
