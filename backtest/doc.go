// Package backtest asks what vertical recommenders would have done with the usage that a history has: it reads workloads, tries each
// candidate on each of them (recommender/vertical/trial), and puts the accounts side by side, per container, workload and cluster.
//
// A Candidate is a recommender with options and an updater, the requests as they were recorded, or advice: a file of what another tool
// recommends, taken as rolled out from the start. The front are the candidates that no other beats in slack and in throttling or
// time down for memory.
//
// The same history and candidates give the same report, byte for byte, however many run at once. It must not know replays and commands.
package backtest
