package html

import (
	"time"

	"github.com/scalehist/scalehist"
)

// view is what the page's script reads. Names of pods and nodes, and texts that repeat, are numbers into lists of their run:
// a day of a large cluster says the same few thousand things again and again.
type view struct {
	Version int    `json:"version"`
	Title   string `json:"title"`
	Runs    []run  `json:"runs"`
	// Pairs hold each further run against the first.
	Pairs []pair `json:"pairs,omitempty"`
}

// viewVersion is raised when page and script must change together.
const viewVersion = 1

// run is one report. Times are milliseconds from its start.
type run struct {
	Label      string             `json:"label"`
	Scenario   string             `json:"scenario"`
	Autoscaler string             `json:"autoscaler"`
	Playback   scalehist.Playback `json:"playback"`
	Start      time.Time          `json:"start"`
	Length     int64              `json:"length"`
	Batch      string             `json:"batch"`
	Loops      int                `json:"loops"`

	Verdict  *verdict `json:"verdict,omitempty"`
	Truth    string   `json:"truth,omitempty"`
	TruthOK  bool     `json:"truthOk,omitempty"`
	Metrics  []metric `json:"metrics"`
	Settings []string `json:"settings"`
	Inputs   []string `json:"inputs"`
	Faults   []string `json:"faults,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Events   []event  `json:"events,omitempty"`
	Currency string   `json:"currency,omitempty"`
	Groups   []group  `json:"groups"`
	// Controllers are the autoscalers of workloads that ran, Workloads those they scaled; absent without any.
	Controllers []string   `json:"controllers,omitempty"`
	Workloads   []workload `json:"workloads,omitempty"`
	Texts       []string   `json:"texts"`
	Nodes       nodes      `json:"nodes"`
	Pods        pods       `json:"pods"`
	Stays       stays      `json:"stays"`
	// Resizes are absent where no pod was resized.
	Resizes   *resizes  `json:"resizes,omitempty"`
	Curves    curves    `json:"curves"`
	Decisions []decided `json:"decisions"`
	// AtEnd are the pods without a node at the end, with the scheduler's message.
	AtEnd []reason `json:"atEnd"`
}

// verdict is how the replay compares with what was recorded.
type verdict struct {
	Agreed bool `json:"agreed"`
	// Line is the verdict in a few words: "differs in scaled-down".
	Line   string `json:"line"`
	Source string `json:"source"`
	// Until is where the comparison ended, absent when that was the end of both.
	Until       *int64       `json:"until,omitempty"`
	Questions   []answer     `json:"questions,omitempty"`
	Groups      []string     `json:"groups,omitempty"`
	Differences []difference `json:"differences,omitempty"`
	// Within counts the differences of steps that are not listed: those within one scan interval.
	Within int `json:"within,omitempty"`
}

// answer is the answer to one question of the verdict.
type answer struct {
	Question string `json:"question"`
	Verdict  string `json:"verdict"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
	Text     string `json:"text"`
	// Counts: the verdict depends on it.
	Counts bool `json:"counts,omitempty"`
}

type difference struct {
	Kind   string `json:"kind"`
	At     int64  `json:"at"`
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// event is one recorded scale-up of a per-event playback.
type event struct {
	At       int64  `json:"at"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
	Agreed   bool   `json:"agreed"`
}

type metric struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Unit       string   `json:"unit"`
	Better     string   `json:"better"`
	Definition string   `json:"definition"`
	Value      *float64 `json:"value,omitempty"`
	Text       string   `json:"text,omitempty"`
	Missing    string   `json:"missing,omitempty"`
}

type group struct {
	Name    string `json:"name"`
	Machine string `json:"machine,omitempty"`
	Zone    string `json:"zone,omitempty"`
	Min     int    `json:"min"`
	Max     int    `json:"max"`
	Guessed bool   `json:"guessed,omitempty"` // Max is
	Initial int    `json:"initial"`
	Final   int    `json:"final"`
	Up      int    `json:"up"`
	Down    int    `json:"down"`
	Delay   string `json:"delay"`
	// Sizes are the target sizes; Recorded the recorded ones, where they are known.
	Sizes    curve    `json:"sizes"`
	Recorded *curve   `json:"recorded,omitempty"`
	Cost     *float64 `json:"cost,omitempty"`
	Hours    *float64 `json:"hours,omitempty"`
}

// workload is one with its replicas over time.
type workload struct {
	Name       string `json:"name"` // "Deployment/shop/web"
	Controller string `json:"controller,omitempty"`
	Initial    int    `json:"initial"`
	Final      int    `json:"final"`
	Peak       int    `json:"peak"`
	Up         int    `json:"up"`
	Down       int    `json:"down"`
	// Unserved is what of its work was not done, in words; empty without load.
	Unserved string `json:"unserved,omitempty"`
	Wanted   curve  `json:"wanted"`
	Ready    curve  `json:"ready"`
	// Sized are the resources that its pods ask for or use, Marks what happened to pods for it; absent where the report does not have requests.
	Sized []sized `json:"sized,omitempty"`
	Marks []mark  `json:"marks,omitempty"`
}

// curve is a number over time: V[i] holds from T[i] to T[i+1].
type curve struct {
	T []int64   `json:"t"`
	V []float64 `json:"v"`
}

// nodes are columns. Group is a number into the run's groups, -1 outside every group; Asked is -1 for a node nobody asked for;
// To is -1 for a node that is there at the end. CPU is in milli, Memory in MiB, both -1 when unknown.
type nodes struct {
	Name   []string `json:"name"`
	Group  []int    `json:"group"`
	Asked  []int64  `json:"asked"`
	From   []int64  `json:"from"`
	To     []int64  `json:"to"`
	CPU    []int64  `json:"cpu"`
	Memory []int64  `json:"memory"`
}

// pods are columns. Owner is a number into the run's texts ("ReplicaSet/web"), -1 when unknown; CPU in milli and Memory in MiB are
// -1 when the report does not have the pod's requests. Follows is 1 for a pod that belongs to its node.
type pods struct {
	Name    []string `json:"name"`
	Owner   []int    `json:"owner"`
	CPU     []int64  `json:"cpu"`
	Memory  []int64  `json:"memory"`
	Follows []int    `json:"follows"`
}

// waiting is the place of a stay without a node.
const waiting = -1

// stays are columns: Pod is at Node from From to To (-1: to the end).
type stays struct {
	Pod  []int   `json:"pod"`
	Node []int   `json:"node"`
	From []int64 `json:"from"`
	To   []int64 `json:"to"`
}

// resizes are columns, in the order of time: Pod asks for CPU (milli) and Memory (MiB) from At on, in place of what pods have of it.
type resizes struct {
	Pod    []int   `json:"pod"`
	At     []int64 `json:"at"`
	CPU    []int64 `json:"cpu"`
	Memory []int64 `json:"memory"`
}

type curves struct {
	Pending curve `json:"pending"`
	Nodes   curve `json:"nodes"`
	// CPU and Memory are what pods ask for of what nodes offer, in percent; -1 while that is unknown, absent when it always is.
	CPU    *curve `json:"cpu,omitempty"`
	Memory *curve `json:"memory,omitempty"`
	// Cost is the price of an hour of the nodes that are there.
	Cost *curve `json:"cost,omitempty"`
}

// decided is a decision. Pods, nodes, groups and texts are numbers into the run's lists.
type decided struct {
	At   int64 `json:"at"`
	Loop int   `json:"loop"`
	// By is the controller of workloads that decided it, about Workload; absent for the node autoscaler. Scale is what it decided about replicas,
	// Parts what it says of other kinds.
	By          string         `json:"by,omitempty"`
	Workload    string         `json:"workload,omitempty"`
	Scale       *scale         `json:"scale,omitempty"`
	Parts       []part         `json:"parts,omitempty"`
	Outcome     string         `json:"outcome,omitempty"`
	Summary     string         `json:"summary"`
	Kind        string         `json:"kind"`
	Short       []int          `json:"short,omitempty"`
	Fit         int            `json:"fit,omitempty"`
	Upcoming    map[string]int `json:"upcoming,omitempty"`
	Options     []option       `json:"options,omitempty"`
	Skipped     [][2]int       `json:"skipped,omitempty"`
	Rejected    [][2]int       `json:"rejected,omitempty"`
	Ups         []change       `json:"ups,omitempty"`
	Downs       []change       `json:"downs,omitempty"`
	Failed      []change       `json:"failed,omitempty"`
	Backoff     []backoff      `json:"backoff,omitempty"`
	Awaiting    int            `json:"awaiting,omitempty"`
	Helpless    int            `json:"helpless,omitempty"`
	Down        string         `json:"down,omitempty"`
	Unneeded    []int          `json:"unneeded,omitempty"`
	Unremovable [][2]int       `json:"unremovable,omitempty"`
	Deleting    []deleting     `json:"deleting,omitempty"`
	// Why are the autoscaler's own words about a pod it cannot help: pod, text.
	Why   [][2]int `json:"why,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// scale is a decision about the replicas of a workload, By the object that asks for it.
type scale struct {
	By      string    `json:"by,omitempty"`
	From    int       `json:"from"`
	To      int       `json:"to"`
	Reason  string    `json:"reason,omitempty"`
	Limited []string  `json:"limited,omitempty"`
	Metrics []reading `json:"metrics,omitempty"`
}

// reading is a metric as a controller saw it; Asks is how many replicas it asks for by itself.
type reading struct {
	Metric string `json:"metric"`
	Value  string `json:"value,omitempty"`
	Target string `json:"target,omitempty"`
	Asks   int    `json:"asks"`
	Error  string `json:"error,omitempty"`
}

type part struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

type option struct {
	Group   string             `json:"group"`
	Nodes   int                `json:"nodes"`
	Pods    int                `json:"pods"`
	Names   []int              `json:"names,omitempty"`
	Similar []string           `json:"similar,omitempty"`
	Scores  map[string]float64 `json:"scores,omitempty"`
	Chosen  bool               `json:"chosen,omitempty"`
	Reason  string             `json:"reason,omitempty"`
}

type change struct {
	Group  string `json:"group"`
	Node   int    `json:"node"`
	From   int    `json:"from"`
	To     int    `json:"to"`
	Max    int    `json:"max,omitempty"`
	Reason string `json:"reason,omitempty"`
}

type backoff struct {
	Group  string `json:"group"`
	Until  int64  `json:"until"`
	Reason string `json:"reason"`
}

type deleting struct {
	Group string  `json:"group"`
	Node  int     `json:"node"`
	Since int64   `json:"since"`
	Used  float64 `json:"used"`
	Pods  []int   `json:"pods,omitempty"`
}

// reason is a pod and a text, as numbers.
type reason [2]int

// pair is a further run held against the first.
type pair struct {
	Run   int    `json:"run"`
	Where string `json:"where,omitempty"`
	First *first `json:"first,omitempty"`
}

// first is the first decision that differs, By a controller or the node autoscaler. A and B are the decisions in force, as numbers, -1 for
// none; ActedA and ActedB say which of them acted then.
type first struct {
	Kind   string `json:"kind"`
	At     int64  `json:"at"`
	By     string `json:"by,omitempty"`
	A      int    `json:"a"`
	B      int    `json:"b"`
	ActedA bool   `json:"actedA"`
	ActedB bool   `json:"actedB"`
}
