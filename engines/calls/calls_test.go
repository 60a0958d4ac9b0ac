package calls

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func size(n int32) proto.Message { return &wire.NodeGroupTargetSizeResponse{TargetSize: n} }

func sizeOf(id string) proto.Message { return &wire.NodeGroupTargetSizeRequest{Id: id} }

func grow(id string, by int32) proto.Message {
	return &wire.NodeGroupIncreaseSizeRequest{Id: id, Delta: by}
}

// recorded writes calls a second apart and reads them again.
func recorded(t *testing.T, f func(call func(method string, request, response proto.Message, err error))) []Call {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls.db")
	now := clocktesting.NewFakePassiveClock(start)
	log, err := Create(t.Context(), path, "test", now)
	if err != nil {
		t.Fatal(err)
	}
	f(func(method string, request, response proto.Message, err error) {
		log.Called(method, request, response, err)
		now.SetTime(now.Now().Add(time.Second))
	})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out, err := Read(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lines are calls as 'provider calls' shows them.
func lines(calls []Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s %s", c.Offset(), c.Method, Short(c.Request), Short(c.Response), c.Code)))
	}
	return out
}

func TestAnAnswerIsRecordedWhereItIsNew(t *testing.T) {
	got := lines(recorded(t, func(call func(string, proto.Message, proto.Message, error)) {
		for range 3 {
			call("NodeGroupTargetSize", sizeOf("a"), size(1), nil)
			call("NodeGroupTargetSize", sizeOf("b"), size(1), nil)
		}
		call("NodeGroupIncreaseSize", grow("a", 1), &wire.NodeGroupIncreaseSizeResponse{}, nil)
		call("NodeGroupIncreaseSize", grow("a", 1), nil, status.Error(codes.ResourceExhausted, "out of stock"))
		call("NodeGroupTargetSize", sizeOf("a"), size(2), nil)
		call("NodeGroupTargetSize", sizeOf("b"), size(1), nil)
		call("NodeGroupTargetSize", sizeOf("a"), size(1), nil)
		call("NodeGroupTemplateNodeInfo", &wire.NodeGroupTemplateNodeInfoRequest{Id: "a"}, &wire.NodeGroupTemplateNodeInfoResponse{NodeBytes: make([]byte, 300)}, nil)
	}))
	want := []string{
		"+0s NodeGroupTargetSize id=a: targetSize=1",
		"+1s NodeGroupTargetSize id=b: targetSize=1",
		"+6s NodeGroupIncreaseSize delta=1 id=a: {}",
		"+7s NodeGroupIncreaseSize delta=1 id=a:  ResourceExhausted",
		"+8s NodeGroupTargetSize id=a: targetSize=2",
		"+10s NodeGroupTargetSize id=a: targetSize=1",
		"+11s NodeGroupTemplateNodeInfo id=a: nodeBytes=(400 characters)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls differ (-want +got):\n%s", diff)
	}
}

func TestCompare(t *testing.T) {
	a := recorded(t, func(call func(string, proto.Message, proto.Message, error)) {
		call("Refresh", &wire.RefreshRequest{}, &wire.RefreshResponse{}, nil)
		call("NodeGroupTargetSize", sizeOf("a"), size(1), nil)
		call("NodeGroupIncreaseSize", grow("a", 1), &wire.NodeGroupIncreaseSizeResponse{}, nil)
		call("NodeGroupIncreaseSize", grow("b", 1), &wire.NodeGroupIncreaseSizeResponse{}, nil)
		call("NodeGroupTargetSize", sizeOf("a"), size(2), nil)
	})
	b := recorded(t, func(call func(string, proto.Message, proto.Message, error)) {
		call("GPULabel", &wire.GPULabelRequest{}, &wire.GPULabelResponse{}, nil)
		call("NodeGroupTargetSize", sizeOf("a"), size(1), nil)
		call("Refresh", &wire.RefreshRequest{}, &wire.RefreshResponse{}, nil)
		call("NodeGroupIncreaseSize", grow("b", 1), &wire.NodeGroupIncreaseSizeResponse{}, nil)
		call("NodeGroupIncreaseSize", grow("b", 1), nil, status.Error(codes.Unavailable, "later"))
		call("NodeGroupTargetSize", sizeOf("c"), size(7), nil)
	})
	d := Compare(a, b)
	var got []string
	for _, r := range d.Changes {
		switch {
		case r.B == nil:
			got = append(got, "A "+lines([]Call{*r.A})[0])
		case r.A == nil:
			got = append(got, "B "+lines([]Call{*r.B})[0])
		default:
			got = append(got, "both "+lines([]Call{*r.A})[0])
		}
	}
	for _, r := range d.Answers {
		got = append(got, strings.Join(lines(r.A), ", ")+" | "+strings.Join(lines(r.B), ", "))
	}
	for _, r := range d.Asked {
		got = append(got, fmt.Sprint(r))
	}
	want := []string{
		"A +2s NodeGroupIncreaseSize delta=1 id=a: {}",
		"both +3s NodeGroupIncreaseSize delta=1 id=b: {}",
		"B +4s NodeGroupIncreaseSize delta=1 id=b:  Unavailable",
		"+1s NodeGroupTargetSize id=a: targetSize=1, +4s NodeGroupTargetSize id=a: targetSize=2 | +1s NodeGroupTargetSize id=a: targetSize=1",
		"{GPULabel 0 1}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the difference differs (-want +got):\n%s", diff)
	}
	if d := Compare(a, a); !d.Same() {
		t.Errorf("a recording differs from itself: %+v", d)
	}
}

// TestCompareKeepsAll: the rows of a comparison are all changes of each side, in their order.
func TestCompareKeepsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := func(name string) []Call {
			var out []Call
			for i, n := range rapid.SliceOf(rapid.IntRange(0, 3)).Draw(t, name) {
				out = append(out, Call{At: time.Duration(i), Method: "NodeGroupIncreaseSize", Request: fmt.Appendf(nil, `{"delta":%d}`, n)})
			}
			return out
		}
		a, b := list("a"), list("b")
		d := Compare(a, b)
		if len(d.Changes) == 0 {
			if !slices.EqualFunc(a, b, func(x, y Call) bool { return question(x) == question(y) }) {
				t.Fatalf("%v and %v are said to be the same", a, b)
			}
			return
		}
		var left, right []Call
		for _, r := range d.Changes {
			if r.A != nil {
				left = append(left, *r.A)
			}
			if r.B != nil {
				right = append(right, *r.B)
			}
			if r.A != nil && r.B != nil && question(*r.A) != question(*r.B) {
				t.Fatalf("%v is not %v", r.A, r.B)
			}
		}
		if diff := cmp.Diff([][]Call{a, b}, [][]Call{left, right}); diff != "" {
			t.Fatalf("rows (-calls +rows):\n%s", diff)
		}
	})
}

func TestMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), path, "test", clock.RealClock{}); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a history that is there: %v", err)
	}
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := Read(t.Context(), db); err == nil || !strings.Contains(err.Error(), "no calls of a provider") {
		t.Errorf("a history without calls: %v", err)
	}
}
