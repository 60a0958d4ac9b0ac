// Package vertical is what recommends requests for the containers of a workload, behind one interface: Recommender. A registry names
// them: vpa is the Vertical Pod Autoscaler on upstream's own packages, url asks one elsewhere (package remote), others are rules or have
// learned. Updaters, by name too, say which pods get what is recommended, and Rules bound it by the policy of a VerticalPodAutoscaler and by limit ranges, by upstream's own code.
//
// Amounts are whole millicores and bytes. All times are the caller's: no wall clock is read. What is random has a seed. A
// recommender is of one workload and has no locks; several are independent of each other.
//
// It must not know clients of Kubernetes, replays, histories, or who asks.
package vertical
