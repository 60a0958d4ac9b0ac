package virtualca

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
)

// ending is a context that ends once it was asked so many times whether it has, and counts how often it is asked after that.
type ending struct {
	context.Context
	left, after atomic.Int64
}

// Err implements context.Context.
func (e *ending) Err() error {
	if e.left.Add(-1) >= 0 {
		return nil
	}
	e.after.Add(1)
	return context.Canceled
}

// TestLoopsEndWithTheirContext: wherever in a loop the context ends, the loop ends there with its error, and asks for no node.
func TestLoopsEndWithTheirContext(t *testing.T) {
	const count = 400
	loop := func(asks int64) (*ending, *cloudprovider.Provider, error) {
		cluster := &testCluster{}
		for i := range count {
			cluster.objects.Pods = append(cluster.objects.Pods, testPod(fmt.Sprintf("p-%d", i), fmt.Sprintf("rs-%d", i%7), "3", fmt.Sprintf("%dMi", 1+i%50)))
		}
		p, err := cloudprovider.New([]scalehist.NodeGroup{
			{Name: "a", MaxSize: 1000, Template: testNode("", "a", "4", "16Gi")},
			{Name: "full", MaxSize: count, TargetSize: count / 4},
		}, cloudprovider.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range count / 4 {
			n := testNode(fmt.Sprintf("n-%d", i), "full", "1", "4Gi")
			cluster.objects.Nodes = append(cluster.objects.Nodes, n)
			if err := p.Adopt(n); err != nil {
				t.Fatal(err)
			}
		}
		a, err := New(cluster, p, config.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		ctx := &ending{Context: t.Context()}
		ctx.left.Store(asks)
		_, err = a.RunOnce(ctx, testStart)
		return ctx, p, err
	}
	whole, p, err := loop(1 << 40)
	if g, _ := p.Group("a"); err != nil || g.TargetSize == 0 {
		t.Fatalf("undisturbed: %v, size %d", err, g.TargetSize)
	}
	asked := 1<<40 - whole.left.Load()
	if asked < count {
		t.Errorf("a loop over %d pods asks %d times whether it should end", count, asked)
	}
	for _, asks := range []int64{0, 1, asked / 4, asked / 2, asked * 3 / 4} {
		ctx, p, err := loop(asks)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended after %d of %d: got %v", asks, asked, err)
		}
		if g, _ := p.Group("a"); g.TargetSize != 0 {
			t.Errorf("ended after %d of %d: %d nodes were asked for", asks, asked, g.TargetSize)
		}
		if after := ctx.after.Load(); after > 20 {
			t.Errorf("ended after %d of %d: it went on for %d", asks, asked, after)
		}
	}
}
