package realca

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// testCloud has one group and keeps what its nodes do.
func testCloud(t *testing.T, g Group) (*cloud, func() []string) {
	t.Helper()
	c := newCloud([]Group{g}, func() time.Duration { return time.Second })
	var mu sync.Mutex
	var seen []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, s)
	}
	c.join = func(_ Group, node string) { note("join " + node) }
	c.leave = func(node string) { note("leave " + node) }
	c.resized = func(Group, int) {}
	t.Cleanup(c.stop)
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), seen...)
	}
}

func TestCloudGrowsAndShrinks(t *testing.T) {
	ctx := t.Context()
	c, seen := testCloud(t, Group{NodeGroup: scalehist.NodeGroup{Name: "a", MaxSize: 3, TargetSize: 1}, Delay: registerBefore + 10*time.Millisecond})
	c.adopt("a", "a-1")
	if err := c.IncreaseSize(ctx, "a", 3); !errors.Is(err, externalgrpc.ErrExhausted) {
		t.Errorf("above the maximum: %v", err)
	}
	if err := c.IncreaseSize(ctx, "a", 2); err != nil {
		t.Fatal(err)
	}
	instances, err := c.Instances(ctx, "a")
	want := []externalgrpc.Instance{{ID: "virtual://a-1", State: externalgrpc.Running}, {ID: "virtual://a-2", State: externalgrpc.Creating}, {ID: "virtual://a-3", State: externalgrpc.Creating}}
	if d := cmp.Diff(want, instances); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	realtest.Eventually(t, "the nodes did not join", func() bool { return len(seen()) == 2 })
	if err := c.DecreaseTargetSize(ctx, "a", 1); !errors.Is(err, externalgrpc.ErrPrecondition) {
		t.Errorf("a decrease that nodes would have to go for: %v", err)
	}
	if err := c.DeleteNodes(ctx, "a", []externalgrpc.Node{{Name: "b-1", ProviderID: "virtual://b-1"}}); !errors.Is(err, externalgrpc.ErrPrecondition) {
		t.Errorf("a node of another group: %v", err)
	}
	if err := c.DeleteNodes(ctx, "a", []externalgrpc.Node{{Name: "a-2", ProviderID: "virtual://a-2"}}); err != nil {
		t.Fatal(err)
	}
	if n, err := c.TargetSize(ctx, "a"); err != nil || n != 2 {
		t.Errorf("the target size is %d, %v: want 2 at once", n, err)
	}
	realtest.Eventually(t, "the node did not leave", func() bool { s := seen(); return s[len(s)-1] == "leave a-2" })
}

func TestCloudTakesBackRequests(t *testing.T) {
	c, seen := testCloud(t, Group{NodeGroup: scalehist.NodeGroup{Name: "a", MaxSize: 3}, Delay: time.Hour})
	if err := errors.Join(c.IncreaseSize(t.Context(), "a", 3), c.DecreaseTargetSize(t.Context(), "a", 2)); err != nil {
		t.Fatal(err)
	}
	instances, err := c.Instances(t.Context(), "a")
	if err != nil || len(instances) != 1 || len(seen()) != 0 {
		t.Errorf("left are %v, %v", instances, err)
	}
}

func TestStockOutAnswersWithAnError(t *testing.T) {
	c, seen := testCloud(t, Group{
		NodeGroup: scalehist.NodeGroup{Name: "a", MaxSize: 3}, Delay: time.Hour, StockOuts: [][2]time.Duration{{0, time.Minute}},
	})
	c.begin()
	if err := c.IncreaseSize(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	realtest.Eventually(t, "the instance came without an error", func() bool {
		i, err := c.Instances(t.Context(), "a")
		return err == nil && i[0].Error != nil && i[0].Error.Class == externalgrpc.OutOfResources && i[0].State == externalgrpc.Creating
	})
	// The autoscaler names an instance without a node by its id.
	if err := c.DeleteNodes(t.Context(), "a", []externalgrpc.Node{{Name: "virtual://a-1", ProviderID: "virtual://a-1"}}); err != nil {
		t.Fatal(err)
	}
	if n, err := c.TargetSize(t.Context(), "a"); err != nil || n != 0 || len(seen()) != 0 {
		t.Errorf("the target size is %d, %v; nodes: %v", n, err, seen())
	}
}

func TestNewNodesTakeNamesThatNoneHad(t *testing.T) {
	c, _ := testCloud(t, Group{NodeGroup: scalehist.NodeGroup{Name: "a", MaxSize: 9, TargetSize: 2}, Delay: time.Hour})
	c.adopt("a", "a-2")
	c.adopt("", "a-3") // of no group
	if err := c.IncreaseSize(t.Context(), "a", 2); err != nil {
		t.Fatal(err)
	}
	instances, err := c.Instances(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range instances {
		got = append(got, i.ID)
	}
	if d := cmp.Diff([]string{"virtual://a-2", "virtual://a-1", "virtual://a-4"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
