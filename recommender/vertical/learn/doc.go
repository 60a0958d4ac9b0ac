// Package learn trains recommenders on the usage of workloads: Boosted fits trees to what came after each step, and Policy finds the numbers
// of a policy by trial in the environments of recommender/vertical/env. Both have a learning Curve.
//
// The same workloads, options and seed give the same model, byte for byte, however many processors there are. It must not know histories,
// files or commands.
package learn
