// Package runinfo measures what a replay costs: wall-clock time by phase, memory, and with which versions and machine. Alone in the replay it reads the
// wall clock, and what it says reaches nothing but the run section of a report. It must not know what is measured.
package runinfo
