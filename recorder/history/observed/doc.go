// Package observed says what a recording shows to have happened: the steps of node groups, their sizes over time, the lives of pods
// and of nodes, and usage beside the limits that held. It reads a history through what package history exports.
//
//   - Step: a change of a node group's target size.
//   - Growth: a growth of a node group that an event states.
//   - Life: what was seen of a pod or a node from its first sight to its end. Names are used again: each life is of one UID.
//
// The package must not know how a history is stored, nor of replays and autoscalers.
package observed
