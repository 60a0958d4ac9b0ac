package virtual_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
)

// BenchmarkScaleDown makes a ReplicaSet of 10,000 pods on 100 nodes one of a single pod.
func BenchmarkScaleDown(b *testing.B) {
	const replicas, nodes = 10_000, 100
	for b.Loop() {
		b.StopTimer()
		plane, err := memory.Start(context.Background(), memory.Options{Now: virtualTime})
		if err != nil {
			b.Fatal(err)
		}
		c := virtual.New(plane, virtual.Options{})
		var changes []scalehist.Change
		for n := range nodes {
			changes = append(changes, scalehist.Change{At: virtualTime, Op: scalehist.OpAdd, Object: node(fmt.Sprintf("n%d", n), "200")})
		}
		for n := range replicas {
			changes = append(changes, scalehist.Change{At: virtualTime, Op: scalehist.OpAdd, Object: on(replica(fmt.Sprintf("p%d", n), "1"), fmt.Sprintf("n%d", n%nodes))})
		}
		ctx := context.Background()
		if err := c.Apply(ctx, changes); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Settle(ctx, virtualTime); err != nil {
			b.Fatal(err)
		}
		ref := c.Targets()[0].WorkloadRef
		if err := c.TakeOver("hpa", ref); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := c.Scale(ctx, ref, 1); err != nil {
			b.Fatal(err)
		}
		for _, at := range []time.Duration{time.Second, time.Minute} {
			if _, err := c.Settle(ctx, virtualTime.Add(at)); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		if n := len(plane.Objects().Pods); n != 1 {
			b.Fatalf("%d pods are left, want one", n)
		}
		if err := plane.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
