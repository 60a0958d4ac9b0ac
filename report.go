package scalehist

import "time"

// ReportVersion is the version of the report format; see docs/report.schema.json.
const ReportVersion = "scalehist.io/report/v1"

// Playback says how a history was played.
type Playback string

const (
	// PlaybackContinuous replays the whole window in one run.
	PlaybackContinuous Playback = "continuous"
	// PlaybackPerEvent replays each recorded scale-up from the snapshot just before it.
	PlaybackPerEvent Playback = "per-event"
	// PlaybackSnapshots decides again about the clusters that a report keeps, one for each decision of its autoscaler.
	PlaybackSnapshots Playback = "snapshots"
)

// ReplayReport is what a replay showed. Everything in it but Run is the same, byte for byte, on every machine.
type ReplayReport struct {
	Version    string   `json:"version"`
	Scenario   string   `json:"scenario"`
	Autoscaler string   `json:"autoscaler"`
	Playback   Playback `json:"playback"`
	// StartTime and EndTime are instants of the recording (UTC).
	StartTime     time.Time `json:"startTime"`
	EndTime       time.Time `json:"endTime"`
	BatchInterval Duration  `json:"batchInterval"`

	// NodeGroups is the table of the report, in name order.
	NodeGroups []NodeGroupResult `json:"nodeGroups"`
	// ScaledUpNodeGroups and ScaledDownNodeGroups are the sums of the granted steps per group, in nodes. Groups
	// that did not move are absent.
	ScaledUpNodeGroups   map[string]int `json:"scaledUpNodeGroups"`
	ScaledDownNodeGroups map[string]int `json:"scaledDownNodeGroups"`
	// ScaledUpNodes are the nodes that joined, in the order they did.
	ScaledUpNodes []ScaledNode `json:"scaledUpNodes"`
	// Decisions has one entry per autoscaler loop that mattered: one that acted, or whose explanation changed. Of a row of loops that
	// only wait for more pods (ScaleUpInCooldown) it has the last.
	Decisions []Decision `json:"decisions"`
	// Loops counts all loops, those left out of Decisions too.
	Loops int `json:"loops"`
	// Steps are the granted changes of target sizes, loop by loop, in time order.
	Steps []SizeStep `json:"steps"`
	// Batches lists what each step fed in and what became of it.
	Batches []Batch `json:"batches"`

	// Controllers are the autoscalers of workloads that ran, in the order in which they act at one instant; WorkloadDecisions what they did,
	// in time order: each run that acted, or whose explanation changed. Workloads are those they looked at, and those with load, in the order
	// in which they were seen first. All are absent without controllers and load.
	Controllers       []string           `json:"controllers,omitempty"`
	Workloads         []WorkloadResult   `json:"workloads,omitempty"`
	WorkloadDecisions []WorkloadDecision `json:"workloadDecisions,omitempty"`

	Pending            PendingStats       `json:"pending"`
	UnschedulableAtEnd []UnschedulablePod `json:"unschedulableAtEnd"`
	Cost               *Cost              `json:"cost,omitempty"`

	// Origin says what the replayed recording is evidence of: recorded, imported or scripted; absent without a recording.
	Origin Origin `json:"origin,omitempty"`
	// Recorded is what really happened in the window, Agreement how the replay compares with it.
	Recorded  *RecordedTruth `json:"recorded,omitempty"`
	Agreement *Agreement     `json:"agreement,omitempty"`
	// Truth is the verdict against a truth file, where one was given.
	Truth *TruthVerdict `json:"truth,omitempty"`

	// Events are the verdicts of a playback that decides single moments again: one for each recorded scale-up, or for each
	// instant at which the autoscaler of a report decided. Empty otherwise.
	Events []EventReplay `json:"events,omitempty"`

	// Settings are the autoscaler's settings at the start; SettingsChanges those recorded later.
	Settings        CASettings       `json:"settings"`
	SettingsChanges []SettingsChange `json:"settingsChanges,omitempty"`
	// Faults are those the scenario added to what was recorded, as the command line takes them.
	Faults []string `json:"faults,omitempty"`
	// Warnings say what a recording could not tell apart and what was not modelled.
	Warnings []string `json:"warnings,omitempty"`
	// Inputs are hashes of everything that went in.
	Inputs []InputHash `json:"inputs"`

	Start ClusterSnapshot `json:"start"`
	End   ClusterSnapshot `json:"end"`
	// Moments are the clusters that Decisions about pods without a node were made about, where whole objects are kept.
	Moments *Moments `json:"moments,omitempty"`

	// Run is what differs by nature between two runs: wall-clock timings, versions, machine. Never compared.
	Run *RunInfo `json:"run,omitempty"`
}

// NodeGroupResult is one line of the node group table. Sizes are target sizes, in nodes.
type NodeGroupResult struct {
	Name        string `json:"name"`
	MachineType string `json:"machineType,omitempty"`
	Zone        string `json:"zone,omitempty"`
	MinSize     int    `json:"minSize"`
	MaxSize     int    `json:"maxSize"`
	// GuessedMax is as in NodeGroup.
	GuessedMax bool `json:"guessedMax,omitempty"`
	Initial    int  `json:"initial"`
	Final      int  `json:"final"`
	Peak       int  `json:"peak"`
	ScaledUp   int  `json:"scaledUp"`
	ScaledDown int  `json:"scaledDown"`
	// RecordedFinal, RecordedScaledUp and RecordedScaledDown are the same for what really happened; absent when the
	// recording does not say.
	RecordedFinal      *int `json:"recordedFinal,omitempty"`
	RecordedScaledUp   *int `json:"recordedScaledUp,omitempty"`
	RecordedScaledDown *int `json:"recordedScaledDown,omitempty"`
	// ProvisionDelay is the time from a request to the Ready node, ProvisionDelayFrom where it comes from:
	// "recorded", "given" or "default".
	ProvisionDelay     Duration `json:"provisionDelay"`
	ProvisionDelayFrom string   `json:"provisionDelayFrom"`
	// Sizes are the target sizes over time, the first at the start.
	Sizes []SizeAt `json:"sizes"`
}

// Bounds are the group's name and bounds, for the texts that NodeGroup has for them.
func (g NodeGroupResult) Bounds() NodeGroup {
	return NodeGroup{Name: g.Name, MinSize: g.MinSize, MaxSize: g.MaxSize, GuessedMax: g.GuessedMax}
}

// WorkloadResult is one line of the workload table.
type WorkloadResult struct {
	WorkloadRef
	// Controller set its replicas; empty where nobody did.
	Controller string `json:"controller,omitempty"`
	// Initial, Final and Peak are replicas that were wanted; ScaledUp and ScaledDown the sums of the controller's steps.
	Initial    int32 `json:"initial"`
	Final      int32 `json:"final"`
	Peak       int32 `json:"peak"`
	ScaledUp   int32 `json:"scaledUp"`
	ScaledDown int32 `json:"scaledDown"`
	// Replicas over time, the first at the start.
	Replicas []ReplicasAt `json:"replicas"`
	// SizedBy set the requests of its pods, and evicted or resized (in place) pods for them; empty where nobody did. Requests are the sums over its
	// pods over time, where somebody did or it has load.
	SizedBy  string       `json:"sizedBy,omitempty"`
	Requests []RequestsAt `json:"requests,omitempty"`
	// Containers have what each container asks for over time: the most that it does in any pod.
	Containers []ContainerRequests `json:"containers,omitempty"`
	Evicted    int32               `json:"evicted,omitempty"`
	Resized    int32               `json:"resized,omitempty"`
	// OOMKills are containers that were killed for using more memory than their limits.
	OOMKills []OOMKill `json:"oomKills,omitempty"`
	// Work is what became of the load, by metric.
	Work []WorkResult `json:"work,omitempty"`
}

// ReplicasAt is how many replicas were wanted, and how many were ready, from an offset on.
type ReplicasAt struct {
	Offset Duration `json:"offset"`
	Wanted int32    `json:"wanted"`
	Ready  int32    `json:"ready"`
}

// ContainerRequests are what a container of a workload asks for over time.
type ContainerRequests struct {
	Name     string       `json:"name"`
	Requests []RequestsAt `json:"requests"`
}

// RequestsAt is what is asked for from an offset on, by the pods of a workload together or by a container: cores, and bytes of memory.
type RequestsAt struct {
	Offset Duration `json:"offset"`
	CPU    float64  `json:"cpu"`
	Memory float64  `json:"memory"`
}

// OOMKill is a container that was killed for using more memory than its limit, which is in bytes.
type OOMKill struct {
	Offset    Duration `json:"offset"`
	Pod       string   `json:"pod"`
	Container string   `json:"container"`
	Limit     float64  `json:"limit"`
	// Restarts is how often the container has been started again, this time with it.
	Restarts int32 `json:"restarts"`
}

// WorkResult is what became of the demand for one metric: in its unit times seconds (core-seconds), or in items of a queue. What came In was
// Served, Lost, or is Waiting.
type WorkResult struct {
	Metric    string  `json:"metric"`
	Container string  `json:"container,omitempty"`
	In        float64 `json:"in"`
	Served    float64 `json:"served"`
	Lost      float64 `json:"lost,omitempty"`
	Waiting   float64 `json:"waiting,omitempty"`
	// Throttled is the part of Lost that limits kept from being done.
	Throttled float64 `json:"throttled,omitempty"`
	// Requested is what running replicas asked for, Slack what they did not use of it, Overrun what they used beyond it: core-seconds of
	// cpu, byte-seconds of memory.
	Requested float64 `json:"requested,omitempty"`
	Slack     float64 `json:"slack,omitempty"`
	Overrun   float64 `json:"overrun,omitempty"`
	// UnknownSeconds is how long the demand was not known.
	UnknownSeconds float64 `json:"unknownSeconds,omitempty"`
	// LimitSeconds is how long work may take; 0 where nobody said so. Late is the part of In that took longer, by the model of package load,
	// or was lost.
	LimitSeconds float64 `json:"limitSeconds,omitempty"`
	Late         float64 `json:"late,omitempty"`
	// UnreadySeconds is how long there was work and no replica ready to do it, LongestUnreadySeconds the longest such time.
	UnreadySeconds        float64 `json:"unreadySeconds,omitempty"`
	LongestUnreadySeconds float64 `json:"longestUnreadySeconds,omitempty"`
	// Used is what the replicas used together over time: of cpu in cores, of memory in bytes.
	Used []UsedAt `json:"used,omitempty"`
	// Held is the part of Served that came while nobody was ready, and waited; nil where work is not held.
	Held *HeldWork `json:"held,omitempty"`
}

// UsedAt is what the replicas of a workload used together from an offset on, as a mean of five minutes; nil where it is not known.
type UsedAt struct {
	Offset Duration `json:"offset"`
	Value  *float64 `json:"value,omitempty"`
}

// HeldWork is work that waited for a first replica: how much, and how long in seconds, by percentiles of the work.
type HeldWork struct {
	Work       float64 `json:"work"`
	P50Seconds float64 `json:"p50Seconds"`
	P90Seconds float64 `json:"p90Seconds"`
	P99Seconds float64 `json:"p99Seconds"`
	MaxSeconds float64 `json:"maxSeconds"`
}

// SizeAt is a target size from an offset on.
type SizeAt struct {
	Offset Duration `json:"offset"`
	Size   int      `json:"size"`
}

// ScaledNode is a node a scale-up brought.
type ScaledNode struct {
	Name      string `json:"name"`
	NodeGroup string `json:"nodeGroup"`
	// RequestedAt is when the target size was raised, ReadyAt when it joined Ready.
	RequestedAt time.Time `json:"requestedAt"`
	ReadyAt     time.Time `json:"readyAt"`
	// RemovedAt is set when it was scaled down again.
	RemovedAt *time.Time `json:"removedAt,omitempty"`
	// Offers is what it had for workload pods when it joined: allocatable, less what DaemonSet and static pods on it ask
	// for; Batch.Offers has what changed later.
	Offers map[string]string `json:"offers,omitempty"`
	// Pods are the pods the scheduler put there by the end, DaemonSet pods left out, sorted.
	Pods []string `json:"pods,omitempty"`
}

// Batch is one step of the replay loop in which something came in or moved.
type Batch struct {
	At           time.Time     `json:"at"`
	DeployedPods []DeployedPod `json:"deployedPods"`
	DeletedPods  []string      `json:"deletedPods,omitempty"`
	NodesJoined  []string      `json:"nodesJoined,omitempty"`
	NodesGone    []string      `json:"nodesGone,omitempty"`
	Preempted    []string      `json:"preempted,omitempty"`
	// Returned pods were evicted, preempted or lost their node, and were pending again.
	Returned []string `json:"returned,omitempty"`
	// Ended pods ran their time, or were evicted or lost their node and nobody made them again.
	Ended []string `json:"ended,omitempty"`
	// Placed are the nodes that pods got in the step and that DeployedPods does not state: those of pods that had another
	// node before, or lost this one again.
	Placed []Placement `json:"placed,omitempty"`
	// NodePods are the pods of DaemonSets and kubelets that came to a node in the step. They belong to it and go with it;
	// NodePodsGone ("namespace/name") are those that went before it, both in the order in which they were created.
	NodePods     []NodePod `json:"nodePods,omitempty"`
	NodePodsGone []string  `json:"nodePodsGone,omitempty"`
	// Scheduled counts the pods that got a node in the step, Unschedulable those without one after it.
	Scheduled     int `json:"scheduled"`
	Unschedulable int `json:"unschedulable"`
	// Resized are the pods whose requests changed in the step, in the order of the changes.
	Resized []PodResize `json:"resized,omitempty"`
	// Offers are the nodes that offer something else to workload pods from the step on, sorted: DaemonSets or their allocatable
	// changed, or they came on their own, outside every node group.
	Offers []NodeOffer `json:"offers,omitempty"`
	// HeldBack counts the pods that wait for a scheduling gate after the step: nobody looks for a node for them yet.
	HeldBack int `json:"heldBack,omitempty"`
}

// Placement is a node that a pod ("namespace/name") got.
type Placement struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

// PodResize is a pod ("namespace/name") that asks for something else from a step on. It keeps its node.
type PodResize struct {
	Pod string `json:"pod"`
	// Requests are absent when it asks for nothing any more.
	Requests map[string]string `json:"requests,omitempty"`
}

// NodeOffer is what a node has for workload pods: allocatable, less what DaemonSet and static pods on it ask for.
type NodeOffer struct {
	Node   string            `json:"node"`
	Offers map[string]string `json:"offers,omitempty"`
}

// NodePod is a pod that belongs to its node: one of a DaemonSet, or a static one.
type NodePod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	NodeName  string `json:"nodeName"`
	// Owner is "DaemonSet/name" or "Node/name".
	Owner string `json:"owner"`
	// Requests are the scheduler's; absent if it asks for nothing.
	Requests map[string]string `json:"requests,omitempty"`
}

// DeployedPod is a pod that was fed in.
type DeployedPod struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	// DeletedAt is the recorded deletion, if it falls into the window.
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
	// ScheduledAt and NodeName say where it ended up, RecordedNodeName where it really ran.
	ScheduledAt      *time.Time `json:"scheduledAt,omitempty"`
	NodeName         string     `json:"nodeName,omitempty"`
	RecordedNodeName string     `json:"recordedNodeName,omitempty"`
	// Requests are what it asked for when it was fed in; Batch.Resized has what changed later. Absent if it asks
	// for nothing.
	Requests map[string]string `json:"requests,omitempty"`
}

// PendingStats sums up how long pods waited for a node: from the step that fed them in (or took their node) to the
// binding, or to the end of the replay or the pod. DaemonSet and static pods are left out.
type PendingStats struct {
	// Pods counts pods that waited at all, of Of pods that were fed in or lost their node; StillWaiting of them have
	// no node at the end. PodSeconds is the sum of the waits in seconds.
	Pods         int     `json:"pods"`
	Of           int     `json:"of"`
	StillWaiting int     `json:"stillWaiting"`
	PodSeconds   float64 `json:"podSeconds"`
	// Waits in seconds over those Of pods: nearest-rank percentiles.
	P50 float64 `json:"p50Seconds"`
	P95 float64 `json:"p95Seconds"`
	// P99 is absent where single moments were decided.
	P99 *float64 `json:"p99Seconds,omitempty"`
	Max float64  `json:"maxSeconds"`
}

// UnschedulablePod is a pod without a node at the end, with the scheduler's message.
type UnschedulablePod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Message   string `json:"message"`
}

// Cost is the price of all node time in the window.
type Cost struct {
	// Currency is the price table's; Total is the sum over NodeGroups.
	Currency   string             `json:"currency"`
	Total      float64            `json:"total"`
	NodeGroups map[string]float64 `json:"nodeGroups"`
	// NodeHours per group, priced or not.
	NodeHours map[string]float64 `json:"nodeHours"`
}

// RecordedTruth is what really happened in the window, as the history shows it.
type RecordedTruth struct {
	// Source says what the sizes were read from: "target sizes" or "events".
	Source               string         `json:"source"`
	ScaledUpNodeGroups   map[string]int `json:"scaledUpNodeGroups"`
	ScaledDownNodeGroups map[string]int `json:"scaledDownNodeGroups"`
	FinalSizes           map[string]int `json:"finalSizes"`
	// Steps are the recorded size changes in time order.
	Steps []RecordedStep `json:"steps"`
	// UnschedulableAtEnd counts the pods that had no node at the end of the window, or of the replay where that ended first.
	UnschedulableAtEnd int `json:"unschedulableAtEnd"`
	// Pending sums up how long the recorded pods waited for a node until then, as ReplayReport.Pending does for the replay.
	// Absent where the recording does not show it.
	Pending *PendingStats `json:"pending,omitempty"`
}

// RecordedStep is one recorded change of a target size.
type RecordedStep struct {
	At        time.Time `json:"at"`
	NodeGroup string    `json:"nodeGroup"`
	From      int       `json:"from"`
	To        int       `json:"to"`
	// Pods triggered it, where events say so.
	Pods []string `json:"pods,omitempty"`
}

// SingleMoments says whether a playback decides moments by themselves: no time passes between its decisions, and after each only
// what the nodes need that were asked for.
func (p Playback) SingleMoments() bool { return p == PlaybackPerEvent || p == PlaybackSnapshots }

// EventReplay is one moment, decided again: that just before a recorded scale-up, or one that a report keeps. Recorded is what was
// really done then, or what the autoscaler of the report asked for.
type EventReplay struct {
	At       time.Time      `json:"at"`
	Recorded []RecordedStep `json:"recorded"`
	Replayed []RecordedStep `json:"replayed"`
	Agreed   bool           `json:"agreed"`
	// Unschedulable counts the pods that no granted node would have helped: those without a node at Until, by the scheduler.
	Unschedulable int `json:"unschedulable"`
	// Until is the virtual instant at which every node that was asked for, then or before, had joined or failed, and the scheduler
	// had placed what it could; or the one at which the autoscaler would have given up on the nodes.
	Until *time.Time `json:"until,omitempty"`
	// Placed are the pods on the nodes that joined, in the order of the nodes; NotJoined the nodes that were asked for and have not.
	Placed    []Placement `json:"placed,omitempty"`
	NotJoined []string    `json:"notJoined,omitempty"`
}

// SettingsChange is a recorded change of the autoscaler's settings; the autoscaler starts again with them.
type SettingsChange struct {
	At       time.Time  `json:"at"`
	Settings CASettings `json:"settings"`
}

// InputHash names an input and its SHA-256.
type InputHash struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// RunInfo is what differs by nature between two runs.
type RunInfo struct {
	ControlPlane string `json:"controlPlane"`
	// Versions of what ran, by name.
	Versions map[string]string `json:"versions,omitempty"`
	// WallTime splits the run: boot, apply, schedule, decide, total; in seconds.
	WallTime map[string]float64 `json:"wallTimeSeconds,omitempty"`
	// PeakMemory of each process, in bytes: scalehist, kube-apiserver, etcd.
	PeakMemory map[string]int64 `json:"peakMemoryBytes,omitempty"`
	Machine    string           `json:"machine,omitempty"`
	StartedAt  time.Time        `json:"startedAt,omitzero"`
	// Rerun is the command that replays just this; Artifacts is where its files are.
	Rerun     string `json:"rerun,omitempty"`
	Artifacts string `json:"artifacts,omitempty"`
}
