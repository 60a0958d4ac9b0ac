package redact

import (
	"regexp"
	"strings"
)

// messages, unfit and preemptions are the formats below, read.
var messages, unfit, preemptions []format

// messageFormats are what the cluster-autoscaler, the scheduler and the controllers write of scaling into events and conditions.
const messageFormats = `
(combined from similar events): <message>
pod triggered scale-up: [<steps>]
pod triggered scale-up: <steps>
pod didn't trigger scale-up: <reasons>
pod didn't trigger scale-up (it wouldn't fit if a new node is added): <reasons>
pod didn't trigger scale-up: max total nodes in cluster reached
Scale-up: setting group <group> size to <count> instead of <count> (max: <count>)
Scale-up: group <group> size set to <count> instead of <count> (max: <count>)
Scale-up: setting group <group> size to <count>
Scale-up: group <group> size set to <count>
Scale-up failed for group <group>: <text>
Scale-up failed for group <group>
Failed adding <count> nodes (<count> unseen previously) to group <group> due to <failure>.<code>; source errors: <text>
Failed adding <count> nodes to group <group> due to <failure>.<code>; source errors: <text>
Nodes added to group <group> failed to register within <duration>
Failed to revert scale-up of group <group> by <count>: <text>
Failed to revert scale-up of group <group>: <text>
Failed to scale-up group <group>: <text>
Scale-down: removing node <node>, utilization: <utilization>, pods to reschedule: <pods>
Scale-down: removing empty node <node>
Scale-down: removing empty node "<node>"
Scale-down: empty node <node> removed
Scale-down: node <node> removed with drain
marked the node as toBeDeleted/unschedulable
failed to mark the node as toBeDeleted/unschedulable
failed to mark the node as toBeDeleted/unschedulable: <text>
marking the node as schedulable
failed to drain the node, aborting ScaleDown
failed to drain the node, aborting ScaleDown: <text>
failed to delete the node: <text>
node removed by cluster autoscaler
nodes removed by cluster autoscaler
deleting pod for node scale down
deleting pod from node <node>
failed to delete pod for ScaleDown
Cluster is unhealthy
Max total nodes in cluster reached: <count>
Priority expander: node group <group> not found in priority expander configuration. The group won't be used.
Removed unregistered node <node>
Failed to remove node <node>: node group min size reached, skipping unregistered node removal
Failed to remove node <node>: <text>
no nodes available to schedule pods
<count>/<count> nodes are available: <reasons>. preemption: <preemption>
<count>/<count> nodes are available: <reasons>. no new claims to deallocate, preemption: <preemption>
<count>/<count> nodes are available: <reasons>. no new claims to deallocate
<count>/<count> nodes are available: <reasons>. cannot allocate all claims, preemption: <preemption>
<count>/<count> nodes are available: <reasons>. still not schedulable, preemption: <preemption>
<count>/<count> nodes are available: <reasons>.
<count>/<count> nodes are available: <reasons>
Scheduling is blocked due to non-empty scheduling gates
skip schedule deleting pod: <namespace>/<pod>
Successfully assigned <namespace>/<pod> to <node>
persistentvolumeclaim "<claim>" not found
persistentvolumeclaim "<claim>" bound to non-existent persistentvolume "<claim>"
persistentvolumeclaim "<claim>" is being deleted
pod has unbound immediate PersistentVolumeClaims
waiting for first consumer to be created before binding
running "<plugin>" filter plugin: <text>
running PreBind plugin <plugin>: <text>
running Reserve plugin <plugin>: <text>
running Permit plugin <plugin>: <text>
Preempted by a pod on node <node>
Preempted by pod <uid> on node <node>
Preempted by podgroup <uid> on node <node>
Preempted by <namespace>/<pod> on node <node>
default-scheduler: preempting to accommodate a higher priority pod
<owner>: preempting to accommodate a higher priority pod
Eviction API: evicting
Taint manager: deleting due to NoExecute taint
Marking for deletion Pod <namespace>/<pod>
Cancelling deletion of Pod <namespace>/<pod>
Deleting pod <namespace>/<pod>
Deleting pod <pod>
Created pod: <pod>
Deleted pod: <pod>
Scaled up replica set <owner> to <count>
Scaled up replica set <owner> from <count> to <count>
Scaled up replica set <owner> to <count> from <count>
Scaled down replica set <owner> to <count>
Scaled down replica set <owner> from <count> to <count>
Scaled down replica set <owner> to <count> from <count>
Node <node> status is now: <condition>
Node <node> event: Registered Node <node> in Controller
Node <node> event: Removing Node <node> from Controller
`

// unfitFormats are the reasons why a pod fits on no node, or a group cannot grow.
const unfitFormats = `
Insufficient <resource>
Too many pods
pod affinity terms conflict
no nodes available to schedule pods
max node group size reached
max node group size limit reached
in backoff after failed scale-up
not ready for scale-up
atomic scale-up exceeds cluster node count limit
max cluster <resources> limit reached
max total nodes in cluster reached
node group is not healthy
pod is too big
node(s) had untolerated taint <taint>
node(s) had untolerated taint(s)
node(s) had taint <taint>, that the pod didn't tolerate
node(s) had taints that the pod didn't tolerate
node(s) did not have enough free storage
node(s) didn't have free ports for the requested pod ports
node(s) didn't match Pod's node affinity/selector
node(s) didn't match Pod's node affinity
node(s) didn't match node selector
node(s) didn't match PersistentVolume's node affinity
node(s) didn't match scheduler-enforced node affinity
node(s) didn't match Pod's required features
node(s) didn't match pod affinity rules
node(s) didn't match pod anti-affinity rules
node(s) didn't match pod affinity/anti-affinity rules
node(s) didn't match pod topology spread constraints
node(s) didn't match pod topology spread constraints (missing required label)
node(s) didn't match the requested node name
node(s) didn't satisfy existing pods anti-affinity rules
node(s) didn't satisfy plugin(s) [<plugin>] simultaneously
node(s) didn't satisfy plugin(s) [<plugin> <plugin>] simultaneously
node(s) didn't satisfy plugin(s) [<plugin>]
node(s) didn't satisfy plugin <plugin>
node(s) exceed max volume count
node(s) had no available disk
node(s) had no available volume zone
node(s) had volume node affinity conflict
node(s) didn't find available persistent volumes to bind
node(s) had unknown conditions
node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod
node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)
node(s) were unschedulable
node(s) were not ready
node(s) did not match a GPU
pod has unbound immediate PersistentVolumeClaims
persistentvolumeclaim "<claim>" not found
persistentvolumeclaim "<claim>" is being deleted
cannot allocate all claims
resourceclaim not created yet
No preemption victims found for incoming pod
No preemption victims found for incoming preemptor
No preemption candidate is found; preemption is not helpful for scheduling
Preemption is not helpful for scheduling
`

// preemptionFormats are how a message about a pod that fits nowhere ends.
const preemptionFormats = `
<count>/<count> nodes are available: <reasons>.
<count>/<count> nodes are available: <reasons>
not eligible due to preemptionPolicy=Never.
not eligible due to a terminating pod on the nominated node.
not eligible due to failed to get nominated node.
not eligible due to placement-based pod group scheduling limitation
not eligible due to workload aware preemption enabled
No preemption victims found for incoming pod.
`

// message rewrites the text of an event or a condition: what varies in it when it is one about scaling, else all of it.
func (r *rewriter) message(s string) string {
	if now, ok := r.format(messages, s); ok {
		return now
	}
	return r.text(s)
}

// counted is a reason with how many nodes or groups it holds for.
var counted = regexp.MustCompile(`(?:^|, )` + countPattern + ` `)

// reasons rewrites "1 Insufficient cpu, 2 node(s) were unschedulable". A reason may have commas, but not before a number.
func (r *rewriter) reasons(s string) string {
	marks := counted.FindAllStringIndex(s, -1)
	if s == "" || len(marks) > 0 && marks[0][0] == 0 {
		return r.countedReasons(s, marks)
	}
	return r.reason(s)
}

func (r *rewriter) countedReasons(s string, marks [][]int) string {
	var b strings.Builder
	for i, m := range marks {
		end := len(s)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		b.WriteString(s[m[0]:m[1]])
		b.WriteString(r.reason(s[m[1]:end]))
	}
	return b.String()
}

func (r *rewriter) reason(s string) string {
	if now, ok := r.format(unfit, s); ok {
		return now
	}
	return r.text(s)
}

func (r *rewriter) preemption(s string) string {
	if now, ok := r.format(preemptions, s); ok {
		return now
	}
	return r.text(s)
}

// openWhys are the reasons of gaps that the recorder gives; others quote errors, which name addresses.
var openWhys = map[string]bool{
	"no recorder was running": true,
	"the watch was interrupted: what happened meanwhile was seen when it resumed":        true,
	"the watch could not resume and started over from a list":                            true,
	"the watch was interrupted and did not come back before the recording ended":         true,
	"the kind can be listed but not watched: what happened between two lists was missed": true,
	"the watch was silent: what happened meanwhile was seen when it was opened again":    true,
	"the writer was behind: what happened meanwhile was seen late":                       true,
}

func (r *rewriter) why(s string) string {
	if openWhys[s] {
		return s
	}
	return r.text(s)
}
