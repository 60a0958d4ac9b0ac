package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

func TestParseFault(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		text string
		want Fault
	}{
		{"stock-out:workers@+5m0s..+20m0s", Fault{Kind: FaultStockOut, NodeGroup: "workers", From: Offset(5 * minute), To: Offset(20 * minute)}},
		{"metrics-down@+5m0s..+20m0s", Fault{Kind: FaultMetricsDown, From: Offset(5 * minute), To: Offset(20 * minute)}},
		{"metrics-slow:requests@+5m0s..,delay=10s", Fault{Kind: FaultMetricsSlow, Metric: "requests", From: Offset(5 * minute), Delay: 10 * sec}},
		{"metrics-wrong:node/requests,value=-2.5", Fault{Kind: FaultMetricsWrong, Metric: "node/requests", Value: -2.5}},
		{"stock-out:workers@+5m0s..,count=3,delay=5s,message=no, none, at all", Fault{
			Kind: FaultStockOut, NodeGroup: "workers", From: Offset(5 * minute), Count: 3, Delay: 5 * sec, Message: "no, none, at all",
		}},
		{"stock-out:workers,skip=2,count=1,class=Other,code=VM_EXTENSION_FAILED,message=x", Fault{
			Kind: FaultStockOut, NodeGroup: "workers", Skip: 2, Count: 1, Class: cloudprovider.ErrorOther, Code: "VM_EXTENSION_FAILED", Message: "x",
		}},
		{"provider-down,skip=3,count=1", Fault{Kind: FaultProviderDown, Skip: 3, Count: 1}},
		{"quota@..+10m0s", Fault{Kind: FaultQuota, To: Offset(10 * minute)}},
		{"refuse", Fault{Kind: FaultRefuse}},
		{"provider-down@+5m0s..2026-03-02T12:00:00Z", Fault{Kind: FaultProviderDown, From: Offset(5 * minute), To: At(noon)}},
		{"slow:workers,delay=2m0s", Fault{Kind: FaultSlow, NodeGroup: "workers", Delay: 2 * minute}},
		{"never-register:a@..,count=1", Fault{Kind: FaultNeverRegister, NodeGroup: "a", Count: 1}},
		{"not-ready:node/workers-3@+0s..+5m0s", Fault{Kind: FaultNotReady, Node: "workers-3", From: Offset(0), To: Offset(5 * minute)}},
		{"spot-reclaim:spot@+10m0s,count=2", Fault{Kind: FaultSpotReclaim, NodeGroup: "spot", From: Offset(10 * minute), Count: 2}},
		{"spot-reclaim:node/spot-1@2026-03-02T12:00:00Z", Fault{Kind: FaultSpotReclaim, Node: "spot-1", From: At(noon)}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := ParseFault(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
			again, err := ParseFault(got.String())
			if err != nil || !cmp.Equal(got, again) {
				t.Errorf("written as %q it is read as %+v, %v", got, again, err)
			}
		})
	}
}

func TestParseFaultErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "unknown kind"},
		{"flood:workers", `unknown kind "flood": choose one of stock-out, quota, refuse`},
		{"stock-out:", "the target after ':' is empty"},
		{"stock-out:workers@soon..", `"soon" is neither an instant`},
		{"stock-out:workers@+5m", "stock-out lasts: write @FROM..TO"},
		{"stock-out:workers@-5m..", "offset -5m is before the start"},
		{"stock-out:node/a", "stock-out hits node groups, not a node"},
		{"provider-down:workers", "provider-down hits all node groups: leave out workers"},
		{"slow:workers", "slow needs a delay"},
		{"refuse:workers,delay=3s", "refuse takes no delay"},
		{"spot-reclaim:workers@+5m..+6m", "spot-reclaim happens at one instant"},
		{"spot-reclaim:workers", "spot-reclaim needs an instant"},
		{"spot-reclaim@+5m", "spot-reclaim needs a node group or a node"},
		{"not-ready:node/a@+5m..,count=2", "one node is one"},
		{"not-ready:a@+5m..,message=x", "not-ready takes no message"},
		{"refuse:a,count=0", `count "0" is not a positive number`},
		{"refuse:a,skip=no", `skip "no" is not a positive number`},
		{"not-ready:a@+5m..,skip=1", "not-ready takes no skip"},
		{"refuse:a,code=X", "refuse takes no class and no code"},
		{"quota:a,class=Mine", `unknown class "Mine": choose OutOfResources or Other`},
		{"quota:a,class=", "class is empty"},
		{"quota:a,code=a b", `code "a b" is not one word`},
		{"slow:a,delay=x", `delay "x" is not a positive duration`},
		{"slow:a,size=2", `unknown key "size"`},
		{"slow:a,2m", `"2m" is not count=N`},
		{"refuse:a,message=", "message is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if _, err := ParseFault(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestParseFaults(t *testing.T) {
	got, err := ParseFaults([]byte("faults:\n- {kind: quota, code: CPUS, class: Other, skip: 1}\n- {kind: slow, nodeGroup: a, from: +1m, to: +2m, delay: 30s, count: 2}\n- {kind: spot-reclaim, node: a-1, from: 2026-03-02T12:00:00Z}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Fault{
		{Kind: FaultQuota, Class: cloudprovider.ErrorOther, Code: "CPUS", Skip: 1},
		{Kind: FaultSlow, NodeGroup: "a", From: Offset(minute), To: Offset(2 * minute), Delay: 30 * sec, Count: 2},
		{Kind: FaultSpotReclaim, Node: "a-1", From: At(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"":                                     `the list "faults" is missing or empty`,
		"faults: 3":                            `line 1: faults: "3" where a list is due`,
		"fault: []":                            `unknown key "fault"; did you mean "faults"?`,
		"faults: [{kind: slow, colour: blue}]": `faults[0]: unknown key "colour"`,
		"faults: [{kind: slow}]":               "faults[0]: slow needs a delay",
		"faults: [{kind: refuse, from: soon}]": `faults[0]: from: "soon" is neither`,
	} {
		if _, err := ParseFaults([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestResolveFaults: faults become the provider's or those of nodes, at instants of the recording.
func TestResolveFaults(t *testing.T) {
	in := newLog().add(5*sec, pod("web-1", "")).input(t, 0, 0)
	for _, text := range []string{"quota:std@+1m..+2m", "provider-down@+1m..", "not-ready:std@+5s..+10s,count=2"} {
		f, err := ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.AddFault(f); err != nil {
			t.Fatal(err)
		}
	}
	want := []cloudprovider.Fault{
		{Kind: cloudprovider.FaultStockOut, Group: "std", From: epoch.Add(minute), To: epoch.Add(2 * minute), Code: "QUOTA_EXCEEDED", Message: "quota exceeded"},
		{Kind: cloudprovider.FaultDown, From: epoch.Add(minute)},
	}
	if diff := cmp.Diff(want, in.Faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	wantNodes := []NodeFault{{Kind: FaultNotReady, NodeGroup: "std", Count: 2, From: epoch.Add(5 * sec), To: epoch.Add(10 * sec)}}
	if diff := cmp.Diff(wantNodes, in.NodeFaults); diff != "" {
		t.Errorf("node faults (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"refuse:sdt":              `unknown node group "sdt": there are std`,
		"refuse:std@+2m..+1m":     "is not before",
		"not-ready:std@+10s..+5s": "is not before",
	} {
		f, err := ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.AddFault(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// FuzzParseFault: any text is a fault that is read as it is written, or an error.
func FuzzParseFault(f *testing.F) {
	for _, text := range []string{"stock-out:a@+5m..+20m,count=3", "spot-reclaim:node/a@+1s", "slow,delay=1s,message=a,b", "quota,skip=1,class=Other,code=X", "quota:a@2026-03-02T12:00:00Z.."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseFault(text)
		if err != nil {
			return
		}
		again, err := ParseFault(got.String())
		if err != nil || again != got {
			t.Errorf("%q is written as %q, which is read as %+v, %v", text, got, again, err)
		}
	})
}
