// Package imports reads load that others recorded, in the formats in which it lies about: metrics of Prometheus, CSV files, published traces. Of
// a file it takes what containers used, and makes what a history needs to hold of it: usage, the pods it is of, a made-up cluster around them.
//
//   - Format: a name, its options, and the parser of one file. Parsers know nothing but their format; they add values to a Load.
//   - Load: containers, pods, and all values in order of time, on disk where they are many.
//
// Amounts are whole millicores and bytes, both rounded up, as the metrics API's are. Nothing is made up where the input is silent: a stretch without
// values stays one, and a container of which one resource is never measured is an error until somebody says what stands for it. The same
// input makes the same lines. The package must not know stores, commands, or autoscalers.
package imports
