package redact

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// sentences are the texts of the cluster-autoscaler, the scheduler and the controllers about scaling. Their words are
// kept in a message that is recognised; every other word of it is taken for a name.
const sentences = `
pod triggered scale-up: (max: )
pod didn't trigger scale-up: max total nodes in cluster reached
it wouldn't fit if a new node is added
max node group size reached, in backoff after failed scale-up, not ready for scale-up, max cluster cpu, memory limit reached
cloud provider, node group, is not healthy, no candidate, scale-up in cooldown, delayed, pod is too big, scheduler predicates failed
Scale-up: setting group size to instead of (max: ) Scale-up: group size set to instead of
Scale-up failed for group failed to increase node group size
Failed adding nodes ( unseen previously) to group due to ; source errors: is out of stock
OutOfResources Other QuotaExceeded.
Nodes added to group failed to register within Failed to revert scale-up of group by
Failed to scale-up group
Scale-down: removing node , utilization: , pods to reschedule: Scale-down: removing empty node removed with drain
Scale-down: empty node removed Scale-down: node
marked the node as toBeDeleted/unschedulable marking the node as schedulable
failed to mark the node as toBeDeleted/unschedulable failed to drain the node, aborting ScaleDown failed to delete
nodes removed by cluster autoscaler node removed by cluster autoscaler deleting pod for node scale down deleting pod from node
failed to delete pod for ScaleDown Cluster is unhealthy Max total nodes in cluster reached:
Priority expander: node group not found in priority expander configuration. The group won't be used.
Removed unregistered node Failed to remove node : group min size reached, skipping unregistered node removal
nodes are available: Insufficient Too many pods no nodes available to schedule pods
node(s) had untolerated taint node(s) had untolerated taint(s) node(s) had taint that the pod didn't tolerate
node(s) had taints that the pod didn't tolerate
node(s) did not have enough free storage node(s) didn't have free ports for the requested pod ports
node(s) didn't match Pod's node affinity/selector node(s) didn't match Pod's node affinity node(s) didn't match node selector
node(s) didn't match pod affinity rules node(s) didn't match pod anti-affinity rules node(s) didn't match pod affinity/anti-affinity rules
node(s) didn't match pod topology spread constraints node(s) didn't match pod topology spread constraints (missing required label)
node(s) didn't match the requested node name node(s) didn't satisfy existing pods anti-affinity rules
node(s) didn't satisfy plugin(s) simultaneously
node(s) exceed max volume count node(s) had no available disk node(s) had no available volume zone
node(s) had volume node affinity conflict node(s) didn't find available persistent volumes to bind node(s) had unknown conditions
node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod
node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s) node(s) were unschedulable
node(s) were not ready node(s) had no resource node(s) did not match a GPU
pod has unbound immediate PersistentVolumeClaims persistentvolumeclaim not found bound to non-existent persistentvolume
persistentvolumeclaim is being deleted waiting for first consumer to be created before binding
running PreBind PreFilter Filter Score Reserve Permit plugin
preemption: No preemption victims found for incoming pod. Preemption is not helpful for scheduling
not eligible due to preemptionPolicy=Never. not eligible due to a terminating pod on the nominated node.
not eligible due to failed to get nominated node no new claims to deallocate, still not schedulable
cannot allocate all claims resourceclaim not created yet pod group quorum
Scheduling is blocked due to non-empty scheduling gates skip schedule deleting pod: Successfully assigned to
Preempted by a pod on node Preempted by pod on node Preempted by podgroup pod with UID
: preempting to accommodate a higher priority pod Eviction API: evicting
Taint manager: deleting due to NoExecute taint Marking for deletion Pod Cancelling deletion of Pod Deleting pod
Pod was rejected The node was low on resource: . Threshold quantity: , available: Container was using , request is , has larger consumption
Created pod: Deleted pod: Node status is now: NodeReady NodeNotReady NodeSchedulable NodeNotSchedulable Registered Removing Node event: Registered from in Controller
Scaled up replica set from to Scaled down replica set
lastProbeTime lastTransitionTime autoscalerStatus: Running Initializing clusterWide: nodeGroups: health: healthy Healthy Unhealthy scaleUp: scaleDown:
nodeCounts: registered: total: ready: notStarted: beingDeleted: unready: resourceUnready: longUnregistered: unregistered: missing minSize: maxSize:
cloudProviderTarget: status: NoActivity InProgress CandidatesPresent NoCandidates Backoff backoffInfo: errorCode: errorMessage: name: minSize maxSize
Cluster-wide: Health: ScaleUp: ScaleDown: NodeGroups: Name: ( ready= unready= resourceUnready= notStarted= longNotStarted= registered= longUnregistered= cloudProviderTarget= minSize= maxSize= candidates=
LastProbeTime: LastTransitionTime: currentSize targetSize desired`

var sentenceWords = func() map[string]bool {
	out := map[string]bool{}
	for _, t := range token.FindAllString(sentences, -1) {
		out[trimPoints(t)] = true
	}
	return out
}()

// recognised begin, or are, the messages that are kept in form.
var recognised = []*regexp.Regexp{
	regexp.MustCompile(`^pod (triggered|didn't trigger) scale-up`),
	regexp.MustCompile(`^Scale-(up|down)(:| failed)`),
	regexp.MustCompile(`^Failed (adding \d+ nodes|to revert scale-up|to scale-up)`),
	regexp.MustCompile(`^Nodes added to group `),
	regexp.MustCompile(`^(failed to )?(mark|marked|marking) the node as `),
	regexp.MustCompile(`^(failed to )?(delete|deleting|drain) (pod|the node) ?(for|from|,)`),
	regexp.MustCompile(`^nodes? removed by cluster autoscaler$`),
	regexp.MustCompile(`^(Cluster is unhealthy$|Max total nodes in cluster reached: |Priority expander: node group )`),
	regexp.MustCompile(`^(Removed unregistered node|Failed to remove node) `),
	regexp.MustCompile(`^\d+/\d+ nodes are available`),
	regexp.MustCompile(`^no nodes available to schedule pods`),
	regexp.MustCompile(`^(Scheduling is blocked due to|skip schedule deleting pod|Successfully assigned|persistentvolumeclaim |pod has unbound|waiting for first consumer|running )`),
	regexp.MustCompile(`^Preempted by `),
	regexp.MustCompile(`: preempting to accommodate a higher priority pod$`),
	regexp.MustCompile(`^(Eviction API: evicting$|Taint manager: deleting due to NoExecute taint|Marking for deletion Pod |Cancelling deletion of Pod |Deleting pod )`),
	regexp.MustCompile(`^(Created|Deleted) pod: `),
	regexp.MustCompile(`^Scaled (up|down) replica set `),
	regexp.MustCompile(`^Node \S+ (status is now: |event: (Registered|Removing) )`),
}

// places are the parts of a message where a name stands whatever word it is: a node group may be called "node".
var places = []struct {
	pattern *regexp.Regexp
	rewrite func(r *rewriter, m []string) string
}{
	{regexp.MustCompile(`\{(\S+) (\d+->\d+ \(max: \d+\))\}`), func(r *rewriter, m []string) string {
		return "{" + r.name("node group", m[1]) + " " + m[2] + "}"
	}},
	{regexp.MustCompile(`\b((?:Scale-up: (?:setting )?|to |for |of |node )group )([^\s:;,]+)`), func(r *rewriter, m []string) string {
		return m[1] + r.name("node group", m[2])
	}},
	{regexp.MustCompile(`(taint(?:\(s\))? )\{([^{}:=]*)(: |=)?([^{}]*)\}`), func(r *rewriter, m []string) string {
		value, effect, ok := strings.Cut(m[4], ":")
		return m[1] + "{" + r.labelKey(m[2]) + m[3] + r.labelValue(m[2], strings.TrimSpace(value)) + colon(ok) + effect + "}"
	}},
	{regexp.MustCompile(`(\bInsufficient )([A-Za-z0-9._/-]*[A-Za-z0-9])`), func(r *rewriter, m []string) string {
		return m[1] + r.resource(m[2])
	}},
	{regexp.MustCompile(`(\b(?:removing(?: empty)? node|: (?:empty )?node|on node|unregistered node|remove node|^Node) )("?)([^\s,"]+)("?)`), func(r *rewriter, m []string) string {
		return m[1] + m[2] + r.name("node", m[3]) + m[4]
	}},
	{regexp.MustCompile(`(^Successfully assigned )([^\s/]+)/(\S+)( to )(\S+)`), func(r *rewriter, m []string) string {
		return m[1] + r.namespace(m[2]) + "/" + r.name("pod", m[3]) + m[4] + r.name("node", m[5])
	}},
	{regexp.MustCompile(`(\bpersistentvolumeclaim )"([^"]*)"`), func(r *rewriter, m []string) string {
		return m[1] + `"` + r.name("persistentvolumeclaim", m[2]) + `"`
	}},
}

func colon(ok bool) string {
	if ok {
		return ":"
	}
	return ""
}

var (
	token    = regexp.MustCompile(`[^\s"(){}\[\],;]+`)
	uuid     = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	plain    = regexp.MustCompile(`^(-?\d{1,3}(\.\d+)?%?|\d+/\d+|\d+->\d+|(\d+(\.\d+)?(h|m|s|ms|µs|ns))+|\d{4}-\d\d-\d\d([T ][0-9:.Z+-]*)?|\d\d:\d\d:\d\d[0-9.]*|\+0000|UTC|m=.*|-|->)$`)
	quantity = regexp.MustCompile(`^\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`)
)

func trimPoints(s string) string { return strings.Trim(s, ".:'`=") }

// message rewrites the text of an event or a condition: names in it when it is one about scaling, else all of it.
func (r *rewriter) message(s string) string {
	for _, m := range recognised {
		if m.MatchString(s) {
			return r.prose(s)
		}
	}
	return r.text(s)
}

// prose rewrites a text of sentences: places first, then every word that is not one of theirs.
func (r *rewriter) prose(s string) string {
	type span struct {
		from, to int
		text     string
	}
	var done []span
	for _, p := range places {
		for _, m := range p.pattern.FindAllStringSubmatchIndex(s, -1) {
			groups := make([]string, len(m)/2)
			for i := range groups {
				if m[2*i] >= 0 {
					groups[i] = s[m[2*i]:m[2*i+1]]
				}
			}
			taken := false
			for _, d := range done {
				taken = taken || m[0] < d.to && d.from < m[1]
			}
			if !taken {
				done = append(done, span{m[0], m[1], p.rewrite(r, groups)})
			}
		}
	}
	var b strings.Builder
	for at := 0; at < len(s); {
		next := span{from: len(s), to: len(s)}
		for _, d := range done {
			if d.from >= at && d.from < next.from {
				next = d
			}
		}
		b.WriteString(token.ReplaceAllStringFunc(s[at:next.from], r.word))
		b.WriteString(next.text)
		at = next.to
	}
	return b.String()
}

// word rewrites one word of a sentence.
func (r *rewriter) word(t string) string {
	core := trimPoints(t)
	at := strings.Index(t, core)
	switch {
	case core == "", sentenceWords[core], plain.MatchString(core), quantity.MatchString(core) && len(core) <= 8:
		return t
	case uuid.MatchString(core):
		return t[:at] + string(r.uid(types.UID(core))) + t[at+len(core):]
	case openReasons[core], openKinds[core], openResources[core]:
		return t
	}
	if key, value, ok := strings.Cut(core, "="); ok {
		return t[:at] + r.word(key) + "=" + r.word(value) + t[at+len(core):]
	}
	return t[:at] + r.name("word", core) + t[at+len(core):]
}

// openWhys are the reasons of gaps that the recorder gives; others quote errors, which name addresses.
var openWhys = map[string]bool{
	"no recorder was running": true,
	"the watch was interrupted: what happened meanwhile was seen when it resumed":        true,
	"the watch could not resume and started over from a list":                            true,
	"the watch was interrupted and did not come back before the recording ended":         true,
	"the kind can be listed but not watched: what happened between two lists was missed": true,
	"the watch was silent: what happened meanwhile was seen when it was opened anew":     true,
	"the writer was behind: what happened meanwhile was seen late":                       true,
}

func (r *rewriter) why(s string) string {
	if openWhys[s] {
		return s
	}
	return r.text(s)
}
