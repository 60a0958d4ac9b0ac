package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// pageRun is what the test reads of the data of a page.
type pageRun struct {
	Nodes struct {
		Name                  []string
		From, To, CPU, Memory []int64
	}
	Pods struct{ CPU, Memory []int64 }
	// Stays are which pod was on which node when; a node below 0 is none.
	Stays struct {
		Pod, Node []int
		From, To  []int64
	}
}

func pageData(t *testing.T, page []byte) pageRun {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/(json|gzip)" id="data">(.*?)</script>`).FindSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	data := m[2]
	if string(m[1]) == "gzip" {
		z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	var v struct{ Runs []pageRun }
	if err := json.Unmarshal(data, &v); err != nil || len(v.Runs) != 1 {
		t.Fatalf("%d runs, %v", len(v.Runs), err)
	}
	return v.Runs[0]
}

// used is what share of a node's CPU and memory the pods that the page shows on it ask for at an instant, in percent.
func (p pageRun) used(node string, at int64) (cpu, memory float64) {
	for row, name := range p.Nodes.Name {
		if name != node || p.Nodes.From[row] > at || p.Nodes.To[row] >= 0 && p.Nodes.To[row] <= at {
			continue
		}
		for i, pod := range p.Stays.Pod {
			if p.Stays.Node[i] == row && p.Stays.From[i] <= at && (p.Stays.To[i] < 0 || p.Stays.To[i] > at) {
				cpu += float64(p.Pods.CPU[pod])
				memory += float64(p.Pods.Memory[pod])
			}
		}
		return 100 * cpu / float64(p.Nodes.CPU[row]), 100 * memory / float64(p.Nodes.Memory[row])
	}
	return math.NaN(), math.NaN()
}

// TestUtilisationOfThePage: what the page shows on a node is what the autoscaler counted there when it decided that the node
// stays or goes, DaemonSet pods of nodes that came and went included.
func TestUtilisationOfThePage(t *testing.T) {
	overused := regexp.MustCompile(`^NotUnderutilized: (cpu|memory) ([0-9.]+)% >`)
	for _, name := range []string{"full-day", "idle-after-burst", "empty-nodes-in-bulk", "one-drain-at-a-time"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if code, _, errs := run(t, t.Context(), "replay", fixture(name), "--control-plane", "memory", "--report-dir", dir); code == console.ExitFailed {
				t.Fatal(errs)
			}
			var r scalehist.ReplayReport
			b, err := os.ReadFile(filepath.Join(dir, "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			html, err := os.ReadFile(filepath.Join(dir, "report.html"))
			if err != nil {
				t.Fatal(err)
			}
			page := pageData(t, html)
			compared, went := 0, 0
			leaving := map[string]bool{} // since a decision before
			for _, d := range r.Decisions {
				for _, n := range r.ScaledUpNodes {
					if n.RemovedAt != nil && !n.RemovedAt.After(d.At) {
						delete(leaving, n.Name)
					}
				}
				// While a node is drained the planner counts the pods it evicted where it thinks they will be.
				if len(leaving) > 0 {
					continue
				}
				at := d.At.Sub(r.StartTime).Milliseconds()
				check := func(node string, want float64, resource string) {
					compared++
					cpu, memory := page.used(node, at)
					got := cpu
					if resource == "memory" || resource == "" && memory > cpu {
						got = memory
					}
					if !(math.Abs(got-want) <= 0.051) { // the decision says one digit
						t.Errorf("%s at +%s: the page shows %.2f%% used (%s), the decision saw %.2f%%", node, d.At.Sub(r.StartTime), got, resource, want)
					}
				}
				for _, n := range d.Unremovable {
					if m := overused.FindStringSubmatch(n.Reason); m != nil {
						want, err := strconv.ParseFloat(m[2], 64)
						if err != nil {
							t.Fatal(err)
						}
						check(n.Node, want, m[1])
					}
				}
				for _, n := range d.Deleting {
					went++
					leaving[n.Node] = true
					check(n.Node, 100*n.Utilization, "")
				}
			}
			if compared == 0 || went == 0 {
				t.Errorf("compared %d nodes, %d of them when they went: the fixture shows nothing", compared, went)
			}
		})
	}
}
