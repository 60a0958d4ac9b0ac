// Package harness replays a scenario through an autoscaler on a virtual cluster, in virtual time, and reports what
// the autoscaler did. It is what authors of specs import.
//
//	r, err := harness.NewReplayer(ctx, "web-burst.db", harness.WithAutoscaler(engines.ClusterAutoscaler()))
//	report, err := r.Replay(ctx, r.RecordDuration())
//
// A replay feeds in what the workload did, never what the recorded autoscaler, scheduler or node lifecycle did about
// it: package trace reads that from a recording. loop.go is the loop; only it moves the clock.
//
// The package knows no autoscaler: engines are passed in (see package engines).
package harness
