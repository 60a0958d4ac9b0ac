// Package ci shows a CI system what passed and what did not: JUnit for any of them, annotations, groups and the job summary
// of GitHub. An Outcome is one scenario, whatever judged it: a Go spec, a scenario file, a gate. It knows text and files of
// text, and nothing of replays.
package ci
