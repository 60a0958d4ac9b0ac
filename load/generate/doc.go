// Package generate makes load by formulas: Shapes of usage over time, by name, and what a history needs to hold of workloads that have it:
// usage of containers, pods that come and finish, or both. The same seed gives the same values everywhere.
//
// A shape is a share of a range over time, at equal steps: 0 is the least of the range and 1 the most. Amounts are whole millicores and
// bytes. It must not know stores, commands, or autoscalers.
package generate
