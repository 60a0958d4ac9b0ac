package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReasons(t *testing.T) {
	path := filepath.Join(t.TempDir(), LogFile)
	const log = `I1231 23:59:50.000001   1 static_autoscaler.go:308] Starting main loop
I1231 23:59:50.100000   1 waste.go:56] Expanding Node Group std would waste 10.00% CPU, 50.00% Memory, 30.00% Blended
I1231 23:59:50.200000   1 orchestrator.go:1085] Best option to resize: std
I1231 23:59:50.200001   1 orchestrator.go:1090] Estimated 3 nodes needed in std
not a line of klog
I0101 00:00:30.000000   1 static_autoscaler.go:308] Starting main loop
I0101 00:00:30.000100   1 nodes.go:150] std-1 is unneeded since 2026-01-01 00:00:00 +0000 UTC m=+1.0 duration 30s
I0101 00:00:30.000200   1 actuator.go:198] Scale-down: removing empty node "std-1"
I0101 00:00:30.000300   1 actuator.go:250] Scale-down: removing node std-2, utilization: {0.2 0.472 0 cpu 0.472}, pods to reschedule: web-1,web-2
`
	if err := os.WriteFile(path, []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2025, 12, 31, 23, 59, 40, 0, time.UTC)
	got, err := Reasons(path, start, func(node string) string { return strings.Split(node, "-")[0] })
	if err != nil {
		t.Fatal(err)
	}
	first, second := start.Add(10*time.Second+time.Microsecond), start.Add(50*time.Second)
	want := []Reason{
		{first, "std", "3 nodes: best option to resize, least-waste 0.6000"},
		{second, "std", "unneeded for 30s, empty"},
		{second, "std", "unneeded for 0s, 47.2% utilized, 2 pods to move"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if _, err := Reasons(path+"x", start, nil); err == nil {
		t.Error("no error without a log")
	}
}
