package realca

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// FromRecording makes a scenario of the causes of a history or an object log. A truth file beside it says when the workload
// began, how long nodes took and when there were none; without one the recording does, and its first change is the beginning.
func FromRecording(ctx context.Context, path string) (_ *Scenario, err error) {
	db, remove, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close(), remove()) }()
	in, err := trace.FromHistory(ctx, db, trace.Window{})
	if err != nil {
		return nil, err
	}
	s := &Scenario{
		Name: baseName(path), What: "the causes of " + filepath.Base(path), Idle: firstLoopToWorkload,
		Flags: caflags.WithoutPlumbing(in.Settings.Flags), Priorities: in.Settings.Priorities,
	}
	begin := in.Start
	if len(in.Changes) > 0 {
		begin = in.Changes[0].At
	}
	s.Duration = in.End.Sub(begin)
	known, err := truthBeside(path)
	if err != nil {
		return nil, err
	}
	if known != nil {
		run := known.Runs[0]
		begin = run.Start.Add(seconds(run.WorkloadStartSeconds))
		s.Duration = seconds(run.DurationSeconds - run.WorkloadStartSeconds)
		s.Name, s.What, s.Flags = known.Scenario, known.What, caflags.WithoutPlumbing(known.Flags)
	}
	for _, g := range in.NodeGroups {
		s.Groups = append(s.Groups, groupOf(g, in, known, begin))
	}
	cluster, err := db.SnapshotAt(ctx, in.Start)
	if err != nil {
		return nil, err
	}
	for _, ch := range in.Initial {
		s.Initial = append(s.Initial, marked(ch.Object, cluster))
	}
	for _, ch := range in.Changes {
		s.Changes = append(s.Changes, Change{After: max(0, ch.At.Sub(begin)), Op: ch.Op, Object: ch.Object})
	}
	return s, nil
}

// marked says on a node which group it is of; a recording may say it in some other way.
func marked(obj scalehist.Object, cluster *scalehist.ClusterSnapshot) scalehist.Object {
	n, ok := obj.(*corev1.Node)
	i := slices.IndexFunc(cluster.Nodes, func(i scalehist.NodeInfo) bool { return ok && i.Name == n.Name })
	if i < 0 || cluster.Nodes[i].NodeGroup == "" {
		return obj
	}
	n = n.DeepCopy()
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, v1alpha1.NodeGroupAnnotation, cluster.Nodes[i].NodeGroup)
	return n
}

func groupOf(g scalehist.NodeGroup, in *trace.Input, known *truth.File, begin time.Time) Group {
	out := Group{NodeGroup: g, Delay: in.ProvisionDelays[g.Name]}
	if out.Delay == 0 {
		out.Delay = time.Minute
	}
	if known == nil {
		for _, f := range in.Faults {
			if f.Group == g.Name && f.Kind == cloudprovider.FaultStockOut {
				out.StockOuts = append(out.StockOuts, [2]time.Duration{f.From.Sub(begin), f.To.Sub(begin)})
			}
		}
		return out
	}
	i := slices.IndexFunc(known.NodeGroups, func(k truth.NodeGroup) bool { return k.Name == g.Name })
	if i < 0 {
		return out
	}
	k := known.NodeGroups[i]
	out.Delay = seconds(k.ProvisionDelaySeconds)
	for _, w := range k.StockOutSeconds {
		out.StockOuts = append(out.StockOuts, [2]time.Duration{seconds(w[0]), seconds(w[1])})
	}
	return out
}

// open opens a history, or an object log by way of one.
func open(ctx context.Context, path string) (*history.DB, func() error, error) {
	if strings.HasSuffix(path, ".db") {
		db, err := history.Open(ctx, path)
		return db, func() error { return nil }, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "realca-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	to := filepath.Join(dir, "recording.db")
	if _, err := transfer.Import(ctx, f, to, transfer.ImportOptions{Name: path}); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	db, err := history.Open(ctx, to)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return db, remove, nil
}

func baseName(path string) string {
	name := filepath.Base(path)
	for _, ext := range []string{".gz", ".jsonl", ".db"} {
		name = strings.TrimSuffix(name, ext)
	}
	if name == "recording" {
		name = filepath.Base(filepath.Dir(path))
	}
	return name
}

// truthBeside is NAME.truth.json, or truth.json, beside a recording; nil when there is none.
func truthBeside(path string) (*truth.File, error) {
	dir := filepath.Dir(path)
	for _, name := range []string{baseName(path) + ".truth.json", "truth.json"} {
		f, err := truth.Read(filepath.Join(dir, name))
		if err == nil {
			return f, nil
		}
		if _, statErr := os.Stat(filepath.Join(dir, name)); statErr == nil {
			return nil, fmt.Errorf("truth beside %s: %w", path, err)
		}
	}
	return nil, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// nodeOf is the node that a group's template brings.
func nodeOf(g Group, name string) *corev1.Node {
	n := &corev1.Node{}
	if t := g.Template; t != nil {
		n = t.DeepCopy()
	}
	n.Name, n.GenerateName, n.UID, n.ResourceVersion = name, "", "", ""
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelHostname] = name
	n.Spec.ProviderID = providerID(name)
	return n
}

const scheme = "virtual://"

func providerID(node string) string { return scheme + node }
