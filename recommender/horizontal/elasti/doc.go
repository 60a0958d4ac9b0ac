// Package elasti decides when a workload is scaled to zero and back, as KubeElasti's scaling module documents it: triggers that are asked for
// what goes on, a cooldown without need before the last replica is removed, hours in which that may happen at all.
//
// A Scaler answers for one trigger; a Policy turns the answers into a Decision, without a clock, a cluster or a network, so that a handler on a
// real cluster (recommender/horizontal/elasti/operator) and a replay in virtual time take the same steps. What is not known never scales
// anything: a query without an answer, of several series, NaN, infinite.
//
// The rules are those of https://github.com/KubeElasti/KubeElasti, its documentation and operator; where they lead it wrong, behaviour_test.go
// has the rule of ours and why.
package elasti
