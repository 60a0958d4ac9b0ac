// Package operator recommends for the VerticalPodAutoscalers of a real cluster, as upstream's recommender does, with any recommender of package
// vertical.
//
// Every interval (Operator.Round) it lists the VPAs that name it, the pods of their targets, and what those used, and has a recommender for each
// VPA. What that recommends is reported, and is in the status of the VPA only where Options.Write is set: upstream's updater and admission
// controller follow it there, within the VPA's update mode. What recommenders remember is kept in VerticalPodAutoscalerCheckpoints.
//
// It must not know where usage comes from (Source), histories, or replays.
package operator
