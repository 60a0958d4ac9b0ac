// Package env is an environment for learners: one step after another, a learner sees what the containers of a pod use and request, says
// bounds and a target for each, and is rewarded for what came of it. Order, units and rules are those of smart-kube's environment, with
// what that left to do: rewards, an end, several containers, and many environments at once.
//
// An observation has four numbers for each container: memory used, CPU used, memory requested, CPU requested; an action has six: lower
// bound of memory and CPU, target of memory and CPU, upper bound of memory and CPU. Memory is in MB (10^6 bytes), CPU in millicores.
//
// The same usage, actions and seed give the same steps. It must not know histories, HTTP (which its server does) and learners.
package env
