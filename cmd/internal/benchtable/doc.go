// Command benchtable turns what `go test -bench` printed into a page of tables: machine, versions, wall time on each control
// plane, ratios between them, to budgets and to published numbers.
//
//	go run ./cmd/internal/benchtable -published bench/published.yaml bench/latest/bench.txt
//
// Lines "# key: value" of the input are what the Makefile noted of the machine; benchstat passes over them. A benchmark whose
// name has "/plane=NAME" is compared across planes. Of several runs the median counts, and the range is shown.
package main
