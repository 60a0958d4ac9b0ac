package realca

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/truth"
)

// rounded is an offset as truth files have it: seconds, to the millisecond.
func rounded(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// result is what a run came to, at its end.
func result(c *cloud, client kubernetes.Interface, start time.Time, length time.Duration) (*truth.Run, error) {
	pods, err := client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes, err := client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &truth.Run{
		Start: start, DurationSeconds: rounded(length), WorkloadStartSeconds: rounded(c.workload), TargetSizes: map[string][][2]float64{},
		ProviderCalls: append([]truth.ProviderCall{}, c.calls...), ScaledUp: map[string]int{}, ScaledDown: map[string]int{}, FinalSizes: map[string]int{},
		PeakSizes: map[string]int{}, UnschedulableAtEnd: []string{}, NodesAtEnd: len(nodes.Items), Loops: []float64{},
	}
	for _, at := range c.loops {
		r.Loops = append(r.Loops, rounded(at))
	}
	for name, sizes := range c.sizes {
		r.TargetSizes[name] = slices.Clone(sizes)
		r.ScaledUp[name], r.ScaledDown[name] = 0, 0
		for i, s := range sizes {
			r.PeakSizes[name] = max(r.PeakSizes[name], int(s[1]))
			r.FinalSizes[name] = int(s[1])
			if i == 0 {
				continue
			}
			if d := int(s[1] - sizes[i-1][1]); d > 0 {
				r.ScaledUp[name] += d
			} else {
				r.ScaledDown[name] -= d
			}
		}
	}
	for _, p := range pods.Items {
		switch {
		case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		case p.Spec.NodeName != "":
			r.ScheduledAtEnd++
		default:
			r.UnschedulableAtEnd = append(r.UnschedulableAtEnd, p.Namespace+"/"+p.Name)
		}
	}
	slices.Sort(r.UnschedulableAtEnd)
	return r, nil
}

// steps are the changes of a run, those of one loop taken together.
func steps(r *truth.Run) []truth.Step {
	type change struct {
		at    float64
		group string
		size  int
	}
	var all []change
	for _, name := range slices.Sorted(maps.Keys(r.TargetSizes)) {
		for _, s := range r.TargetSizes[name][1:] {
			all = append(all, change{s[0], name, int(s[1])})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	now := map[string]int{}
	for name, sizes := range r.TargetSizes {
		now[name] = int(sizes[0][1])
	}
	var out []truth.Step
	last := -1
	for _, c := range all {
		loop, _ := slices.BinarySearch(r.Loops, c.at)
		if loop != last {
			out = append(out, truth.Step{At: c.at, Sizes: map[string][2]int{}})
			last = loop
		}
		s := out[len(out)-1].Sizes
		from := now[c.group]
		if before, ok := s[c.group]; ok {
			from = before[0]
		}
		s[c.group] = [2]int{from, c.size}
		now[c.group] = c.size
	}
	return out
}

// truthOf puts runs together.
func truthOf(s *Scenario, o Options, runs []*truth.Run) *truth.File {
	f := &truth.File{
		Scenario: s.Name, What: s.What, Flags: inForce(s, o), SameSizeHistoryInAllRuns: true, FirstStepsInAllRuns: []truth.Step{},
		RecordedWith: map[string]string{"clusterAutoscaler": o.version, "clusterAutoscalerProvider": "externalgrpc", "kubeScheduler": "1.36.3", "kubeApiserver": "1.36.3", "nodes": "virtual"},
	}
	for _, g := range s.Groups {
		n := truth.NodeGroup{
			Name: g.Name, MachineType: g.MachineType, Zone: g.Zone, MinSize: g.MinSize, MaxSize: g.MaxSize, InitialSize: g.TargetSize, ProvisionDelaySeconds: g.Delay.Seconds(),
		}
		for _, w := range g.StockOuts {
			n.StockOutSeconds, n.StockOutAnswer = append(n.StockOutSeconds, [2]float64{w[0].Seconds(), w[1].Seconds()}), "instance"
		}
		f.NodeGroups = append(f.NodeGroups, n)
	}
	common := steps(runs[0])
	for i, r := range runs {
		r.Run = i + 1
		f.Runs = append(f.Runs, *r)
		end := r.Outcome()
		if !slices.ContainsFunc(f.Outcomes, func(o scalehist.Outcome) bool { return reflect.DeepEqual(o, end) }) {
			f.Outcomes = append(f.Outcomes, end)
		}
		f.SameSizeHistoryInAllRuns = f.SameSizeHistoryInAllRuns && reflect.DeepEqual(histories(r), histories(runs[0]))
		mine := steps(r)
		alike := 0
		for alike < min(len(common), len(mine)) && reflect.DeepEqual(common[alike].Sizes, mine[alike].Sizes) {
			alike++
		}
		common = common[:alike]
	}
	f.FirstStepsInAllRuns = append(f.FirstStepsInAllRuns, common...)
	f.Runs[0].Log = HistoryName
	return f
}

// histories are the sizes of each group in order, without times.
func histories(r *truth.Run) map[string][]int {
	out := map[string][]int{}
	for name, sizes := range r.TargetSizes {
		for _, s := range sizes {
			out[name] = append(out[name], int(s[1]))
		}
	}
	return out
}

func writeTruth(path string, f *truth.File) error {
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	if _, err := truth.Parse(b); err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
