package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/decode"
)

// Case is one recorded decision of upstream. Outcomes and Sample may be absent: then it can be run, not judged.
type Case struct {
	Name     string    `json:"name"`
	Category string    `json:"category"`
	Input    Input     `json:"input"`
	Outcomes []Outcome `json:"outcomes"`
	// Sample is one whole run of upstream, for a person to read.
	Sample json.RawMessage `json:"sample"`
}

// Outcome is what a run came to. Groups that did not move are absent from Deltas and Removed.
type Outcome struct {
	Deltas     map[string]int `json:"deltas"`
	Removed    map[string]int `json:"removed"`
	FinalSizes map[string]int `json:"finalSizes"`
}

// Input is the world before the first loop, and how loops follow each other.
type Input struct {
	Flags []string `json:"flags"`
	// Mode is "" or "scaleup" for scale-up alone, "full" with scale-down.
	Mode  string             `json:"mode"`
	Start time.Time          `json:"start"`
	Step  scalehist.Duration `json:"step"`
	// Iterations is the number of loops; without it 30, and scale-up mode ends at a loop that asks for nothing.
	Iterations int `json:"iterations"`
	// Materialize is "" or "ready": nodes asked for exist before the next loop; "none": they never do.
	Materialize string `json:"materialize"`
	// TieBreak is "" or "first".
	TieBreak             string              `json:"tieBreak"`
	StopAtFirstScaleDown bool                `json:"stopAtFirstScaleDown"`
	GPULabel             string              `json:"gpuLabel"`
	PriorityConfig       string              `json:"priorityConfig"`
	Pricing              *Pricing            `json:"pricing"`
	ResourceLimits       map[string][2]int64 `json:"resourceLimits"`

	NodeGroups []NodeGroup   `json:"nodeGroups"`
	Nodes      []Node        `json:"nodes"`
	Pods       []*corev1.Pod `json:"pods"`

	DaemonSets             []*appsv1.DaemonSet             `json:"daemonSets"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets"`
	Jobs                   []*batchv1.Job                  `json:"jobs"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers"`
	PDBs                   []*policyv1.PodDisruptionBudget `json:"pdbs"`
	PVs                    []*corev1.PersistentVolume      `json:"pvs"`
	PVCs                   []*corev1.PersistentVolumeClaim `json:"pvcs"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
	Namespaces             []*corev1.Namespace             `json:"namespaces"`
	Services               []*corev1.Service               `json:"services"`
	// AutoOwners makes the owners that pods name; absent means true.
	AutoOwners *bool `json:"autoOwners"`
}

// Pricing is the provider's price model, per hour.
type Pricing struct {
	NodePerHour   map[string]float64 `json:"nodePerHour"`
	CPUPerHour    float64            `json:"cpuPerHour"`
	MemGiBPerHour float64            `json:"memGiBPerHour"`
	GPUPerHour    float64            `json:"gpuPerHour"`
}

// NodeGroup is a node group of a case. TargetSize absent is the number of its nodes.
type NodeGroup struct {
	Name         string        `json:"name"`
	Min          int           `json:"min"`
	Max          int           `json:"max"`
	TargetSize   *int          `json:"targetSize"`
	Template     *corev1.Node  `json:"template"`
	TemplatePods []*corev1.Pod `json:"templatePods"`
	FailScaleUp  bool          `json:"failScaleUp"`
	Options      *Options      `json:"options"`
}

// Options are a group's own autoscaling options.
type Options struct {
	ScaleDownUtilizationThreshold    *float64            `json:"scaleDownUtilizationThreshold"`
	ScaleDownGPUUtilizationThreshold *float64            `json:"scaleDownGpuUtilizationThreshold"`
	ScaleDownUnneededTime            *scalehist.Duration `json:"scaleDownUnneededTime"`
	ScaleDownUnreadyTime             *scalehist.Duration `json:"scaleDownUnreadyTime"`
	MaxNodeProvisionTime             *scalehist.Duration `json:"maxNodeProvisionTime"`
	ZeroOrMaxNodeScaling             *bool               `json:"zeroOrMaxNodeScaling"`
	AllowNonAtomicScaleUpToMax       *bool               `json:"allowNonAtomicScaleUpToMax"`
	IgnoreDaemonSetsUtilization      *bool               `json:"ignoreDaemonSetsUtilization"`
}

// Node is a node with its group; "" is a node that is not autoscaled.
type Node struct {
	NodeGroup string       `json:"nodeGroup"`
	Node      *corev1.Node `json:"node"`
}

// ScaleDown says whether the case needs the scale-down part of the autoscaler.
func (i Input) ScaleDown() bool { return i.Mode == "full" }

// Load reads a case file: JSON lines, plain or compressed with gzip.
func Load(path string) ([]Case, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("conformance cases: %w", err)
	}
	defer f.Close()
	cases, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("conformance cases %s: %w", path, err)
	}
	return cases, nil
}

// Read reads cases from a stream. An unknown field is an error that names it and the line.
func Read(r io.Reader) ([]Case, error) {
	b := bufio.NewReader(r)
	if head, err := b.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReader(z)
	}
	var cases []Case
	for line := 1; ; line++ {
		text, err := b.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			c, perr := parse(text)
			if perr != nil {
				return nil, fmt.Errorf("line %d: %w", line, perr)
			}
			cases = append(cases, c)
		}
		if err == io.EOF {
			return cases, nil
		}
	}
}

func parse(text []byte) (Case, error) {
	var c Case
	if err := decode.StrictJSON(text, &c); err != nil {
		return Case{}, err
	}
	return c, c.Input.check(c.Name)
}

func (i Input) check(name string) error {
	one := func(field, value string, allowed ...string) error {
		for _, a := range allowed {
			if value == a {
				return nil
			}
		}
		return fmt.Errorf("case %s: %s %q is unknown: want one of %q", name, field, value, allowed)
	}
	if err := one("mode", i.Mode, "", "scaleup", "full"); err != nil {
		return err
	}
	if err := one("materialize", i.Materialize, "", "ready", "none"); err != nil {
		return err
	}
	if err := one("tieBreak", i.TieBreak, "", "first"); err != nil {
		return err
	}
	known := map[string]bool{"": true}
	for _, g := range i.NodeGroups {
		known[g.Name] = true
	}
	for _, n := range i.Nodes {
		if n.Node == nil {
			return fmt.Errorf("case %s: an entry of nodes has no node", name)
		}
		if !known[n.NodeGroup] {
			return fmt.Errorf("case %s: node %s: node group %q does not exist", name, n.Node.Name, n.NodeGroup)
		}
	}
	return nil
}
