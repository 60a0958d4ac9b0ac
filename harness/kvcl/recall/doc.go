// Package recall makes the scheduler of the profile package fast without changing an answer of it: it remembers.
//
// One placement changes one node. Upstream asks every plugin about every node again for the next pod; recall asks about the
// nodes that changed. [Install] replaces the scheduler's SchedulePod. A cycle of ours runs upstream's PreFilter, takes from
// memory what was found out before, asks the plugins for the rest, and picks the winner by upstream's rule. Everything
// around it (queue, cache, preemption, binding) stays upstream's.
//
// Terms:
//
//   - A plugin is local when its answer depends on the pod and on one node alone. Only answers of local plugins are remembered.
//   - A shape is what the local plugins can see of a pod. Its key is put together from the signatures the plugins themselves
//     give (SignPod), and from what these leave out (see shapeKey).
//   - An answer, the status of the filters and the raw scores, is remembered per shape and node, and holds for one generation
//     of the node. Generations are numbered per process and never reused: they tell incarnations of a name apart too.
//   - Scores that compare nodes are normalised again for each pod, over the nodes that take it, by the plugins.
//   - Default spreading counts pods: the counts are remembered per selector and node, the rest is computed again.
//   - Stock is upstream's algorithm. Whatever is not proven to be the same goes there, and [Stats] counts why.
//
// Nothing is taken for granted about plugins that are not local: a cycle is ours only if PreFilter made the framework skip
// all their filters. So constraints on other pods, volumes and claims go to stock.
//
// It must not know where objects are stored, nor who turns the scheduler. It is not safe under informers that call from
// several goroutines.
package recall
