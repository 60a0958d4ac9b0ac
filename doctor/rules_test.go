package doctor_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/doctor"
	"github.com/scalehist/scalehist/recorder"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/sources"
)

// ruleTest has a story that a rule finds something in, and one that is nearly the same where it does not.
type ruleTest struct {
	code string
	bad  *story
	good *story // nil: the healthy one
	// want is a part of the first finding's object and message, severity its severity.
	object, want string
	severity     doctor.Severity
}

func flags(f ...string) *story {
	return change(healthy(), "cluster-autoscaler", func(d *appsv1.Deployment) {
		c := &d.Spec.Template.Spec.Containers[0]
		c.Command = append([]string{"./cluster-autoscaler"}, f...)
	})
}

func annotate(key, value string) *story {
	return change(healthy(), "g", func(g *v1alpha1.NodeGroup) { g.Annotations = map[string]string{key: value} })
}

func static(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		bound(node)(p)
		owned("Node", node)(p)
	}
}

// reused has a pod that is deleted at 60 s, another of its name from 80 s on, and an event without UID that names it.
func reused(seconds float64) *story {
	second := pod("web-7", unschedulable)
	second.UID = "uid-web-7-second"
	e := scaleUp("web-7", "g", "2->3", seconds)
	e.InvolvedObject.UID = ""
	return healthy().add(50, pod("web-7", unschedulable)).remove(60, pod("web-7", unschedulable)).add(80, second).
		add(seconds, e).update(seconds, group("g", 3))
}

func disrupted(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(60))})
}

func policy(p corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = p }
}

// daemonSetOf is one whose selector is another.
func daemonSetOf(name, app string) *appsv1.DaemonSet {
	d := daemonSet(name)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
	return d
}

func schedulerName(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.SchedulerName = name }
}

func with(edit func(*story)) *story {
	s := healthy()
	edit(s)
	return s
}

func usage(seconds ...float64) *story {
	return with(func(s *story) {
		for _, at1 := range seconds {
			s.usages = append(s.usages, history.Usage{At: at(at1), Pod: types.NamespacedName{Namespace: "default", Name: "web-0"}, Container: "c", CPUMilli: 1})
		}
	})
}

func samples(seconds ...float64) *story {
	return with(func(s *story) {
		for _, at1 := range seconds {
			s.samples = append(s.samples, history.Sample{Series: "queue_length", At: at(at1), Value: 1})
		}
	})
}

func clock(series string, value float64) *story {
	return with(func(s *story) { s.samples = []history.Sample{{Series: series, At: at(30), Value: value}} })
}

var every20 = []float64{0, 20, 40, 60, 80, 100, 120}

func ruleTests() []ruleTest {
	gap := func(kinds ...string) *story {
		return with(func(s *story) {
			s.gaps = []history.Gap{{From: at(30), To: at(40), Kinds: kinds, Why: "cut off"}}
		})
	}
	priority := func(p *corev1.Pod) { p.Spec.PriorityClassName, p.Spec.Priority = "high", new(int32(7)) }
	devices := func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }
	phase := func(to corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = to } }
	runtimeClass := func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("kata") }
	high := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}}
	return []ruleTest{
		{code: "SH101", bad: gap("Pod"), good: gap("Job"), want: "Pod were not watched for 10s, until 2026-03-01T12:00:40Z: cut off", severity: doctor.Error},
		{code: "SH101", bad: gap(), want: "nothing was watched", severity: doctor.Error},
		{code: "SH102", bad: gap("Job"), good: gap("Pod"), want: "Job were not watched", severity: doctor.Warning},
		{code: "SH103", bad: with(func(s *story) { s.ends = time.Time{} }), want: "has no end", severity: doctor.Warning},
		{code: "SH104", bad: with(func(s *story) { s.kinds = []string{"Node"} }), want: "Pod was not recorded", severity: doctor.Error},
		{code: "SH105", bad: with(func(s *story) { s.entries, s.ends = s.entries[:8], at(5) }), want: "5s long, the scan interval 10s", severity: doctor.Warning},
		{code: "SH106", bad: without[*corev1.Pod](healthy(), ""), want: "no pod", severity: doctor.Warning},
		{code: "SH107", bad: change(without[*corev1.Node](healthy(), ""), "g", func(g *v1alpha1.NodeGroup) { g.Spec.Template = nil }),
			good: without[*corev1.Node](healthy(), ""), want: "no node", severity: doctor.Warning},
		{code: "SH108", bad: without[*v1alpha1.NodeGroup](healthy(), ""), good: gap("Pod"), want: "no node groups", severity: doctor.Error},
		{code: "SH108", bad: with(func(s *story) { s.ends = at(130_000_000) }), want: "has more than 10000000 loops", severity: doctor.Error},

		{code: "SH121", bad: healthy().add(60, pod("early", created(66))), good: healthy().add(60, pod("early", created(61))), object: "Pod default/early",
			want: "1 object created after they were seen, at most 6s", severity: doctor.Warning},
		{code: "SH122", bad: healthy().add(100, pod("old", created(50))), good: healthy().add(5, pod("old", created(-50))), object: "Pod default/old",
			want: "long after their creation, at most 50s", severity: doctor.Warning},
		{code: "SH123", bad: healthy().add(30, scaleUp("web-1", "g", "1->2", 35)), object: "Pod default/web-1", want: "1 event of cluster-autoscaler", severity: doctor.Warning},
		{code: "SH124", bad: clock(recorder.SkewSeries, 3), good: clock(recorder.SkewSeries, 0), want: "3s behind the API server's", severity: doctor.Warning},
		{code: "SH124", bad: clock(recorder.JumpSeries, -3), want: "set back by 3s", severity: doctor.Warning},

		{code: "SH201", bad: healthy().add(60, pod("p", priority)), good: healthy().add(60, pod("p", priority)).add(0, high), object: "Pod default/p",
			want: "names PriorityClass high, which was not recorded", severity: doctor.Warning},
		{code: "SH201", bad: healthy().add(60, pod("p", func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" })),
			good: healthy().add(60, pod("p", func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" })), want: "PriorityClass high", severity: doctor.Error},
		{code: "SH202", bad: healthy().add(60, pod("p", claimed("data")), pod("q", claimed("data"))), good: healthy().add(60, pod("p", claimed("data")), claim("data", "", "")),
			want: "the first of 2 pods that use PersistentVolumeClaim default/data, which was not recorded", severity: doctor.Warning},
		{code: "SH203", bad: healthy().add(60, pod("p", runtimeClass)), good: healthy().add(0, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}}, pod("p", runtimeClass)),
			want: "RuntimeClass kata", severity: doctor.Info},
		{code: "SH204", bad: healthy().add(60, claim("data", "fast", "")), good: healthy().add(60, claim("data", "fast", "")).add(0, storageClass("fast")),
			object: "PersistentVolumeClaim default/data", want: "StorageClass fast", severity: doctor.Warning},
		{code: "SH205", bad: healthy().add(60, claim("data", "", "pv-1")),
			good: healthy().add(60, claim("data", "", "pv-1"), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}}), want: "PersistentVolume pv-1", severity: doctor.Warning},
		{code: "SH206", bad: healthy().add(60, pod("p", bound("n9"))), good: healthy().add(60, pod("p", bound("n1"))), want: "stands on Node n9", severity: doctor.Warning},
		{code: "SH207", bad: healthy().add(60, pod("p", owned("Job", "batch"))), good: healthy().add(60, pod("p", owned("Node", "n1"))), want: "Job default/batch", severity: doctor.Warning},
		{code: "SH207", bad: healthy().add(60, pod("p", owned("Workflow", "w"))), want: "belongs to owners of kind Workflow", severity: doctor.Info},
		{code: "SH208", bad: without[*appsv1.DaemonSet](healthy(), ""), object: "Pod default/agent-n1", want: "DaemonSet default/agent", severity: doctor.Warning},
		{code: "SH209", bad: healthy().add(60, pod("Web_1")), good: healthy().add(60, pod("web-1")), object: "Pod default/Web_1", want: "its name is refused: a lowercase RFC 1123 subdomain", severity: doctor.Error},
		{code: "SH209", bad: healthy().add(60, pod("p", func(p *corev1.Pod) { p.Labels = map[string]string{"a\x1b": "b"} })), object: "Pod default/p", want: "its labels are refused", severity: doctor.Error},
		{code: "SH210", bad: healthy().add(0, pod("p", policy("Sometimes"))), good: healthy().add(60, pod("p", policy(corev1.RestartPolicyNever))),
			object: "Pod default/p", want: "it is refused: spec.restartPolicy: Unsupported value: \"Sometimes\"", severity: doctor.Error},
		{code: "SH210", bad: healthy().add(60, pod("p", policy("Sometimes"))), object: "Pod default/p", want: "spec.restartPolicy", severity: doctor.Error},
		{code: "SH210", bad: change(healthy(), "g", func(g *v1alpha1.NodeGroup) { g.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "k", Effect: "Never"}} }),
			object: "NodeGroup g", want: "its nodes are refused: metadata.taints[0].effect", severity: doctor.Warning},
		{code: "SH210", bad: healthy().update(60, daemonSetOf("agent", "other")), object: "DaemonSet default/agent", want: "field is immutable", severity: doctor.Error},

		{code: "SH221", bad: healthy().add(0, pod("p")), good: healthy().add(0, pod("p", unschedulable)), object: "Pod default/p", want: "pending from the start to the end (2m0s)", severity: doctor.Warning},
		{code: "SH222", bad: healthy().add(0, pod("p")).update(5, pod("p", bound("n1"))), good: healthy().add(0, pod("p", unschedulable)).update(5, pod("p", bound("n1"))),
			object: "Pod default/p", want: "no node yet", severity: doctor.Info},
		{code: "SH223", bad: healthy().add(0, pod("proxy-n1", static("n1"))), good: healthy().add(0, node("alone", ""), pod("proxy-alone", static("alone"))),
			object: "NodeGroup g", want: "its nodes have different ones", severity: doctor.Info},
		{code: "SH224", bad: healthy().update(60, pod("web-0", owned("ReplicaSet", "web"), bound("n1"), disrupted)).remove(61, pod("web-0", owned("ReplicaSet", "web"), bound("n1"))),
			good: healthy().remove(61, pod("web-0", owned("ReplicaSet", "web"), bound("n1"))), want: "made no other", severity: doctor.Warning},

		{code: "SH301", bad: healthy().add(60, node("alone", "")), good: healthy().add(60, inControlPlane(node("master", ""))), object: "Node alone", want: "no node group", severity: doctor.Info},
		{code: "SH302", bad: healthy().add(0, bare("h")), good: healthy().add(0, bare("h"), node("h1", "h")), object: "NodeGroup h", want: "no node in the window", severity: doctor.Warning},
		{code: "SH302", bad: healthy().add(0, bare("h")).add(60, node("h1", "h")), want: "comes after the start", severity: doctor.Warning},
		{code: "SH303", bad: annotate(sources.BoundsFrom, sources.FromNodes), good: annotate(sources.BoundsFrom, sources.FromFlags), object: "NodeGroup g", want: "most nodes", severity: doctor.Warning},
		{code: "SH304", bad: annotate(sources.TargetSizeFrom, sources.FromNodes), object: "NodeGroup g", want: "counted", severity: doctor.Info},
		{code: "SH305", bad: healthy().update(60, group("g", 6)), good: healthy().update(60, group("g", 5)), object: "NodeGroup g", want: "6 is above the max 5", severity: doctor.Warning},
		{code: "SH305", bad: healthy().update(60, group("g", 0)), want: "0 is below the min 1", severity: doctor.Warning},
		{code: "SH306", bad: change(healthy(), "g", func(g *v1alpha1.NodeGroup) { g.Spec.MinSize = 9 }), object: "NodeGroup g", want: "min 9, max 5", severity: doctor.Error},
		{code: "SH307", bad: healthy().add(60, node("n3", "other")), object: "Node n3", want: "NodeGroup other", severity: doctor.Warning},

		{code: "SH401", bad: without[*appsv1.Deployment](healthy(), ""), object: "Pod default/web-1", want: "1 event of a cluster-autoscaler", severity: doctor.Warning},
		{code: "SH402", bad: flags("--sacn-interval=10s"), want: "--sacn-interval is unknown", severity: doctor.Warning},
		{code: "SH403", bad: flags("--ignore-taint=x"), good: flags("--scan-interval=10s"), want: "use --startup-taint", severity: doctor.Info},
		{code: "SH404", bad: flags("--scale-down-enabled=false", "--grpc-expander-url=x"), want: "--grpc-expander-url is not modelled", severity: doctor.Warning},
		{code: "SH405", bad: flags("--scale-down-enabled=false", "--expander=priority"), want: "cluster-autoscaler-priority-expander", severity: doctor.Warning,
			good: flags("--scale-down-enabled=false", "--expander=priority").add(0, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-priority-expander"}, Data: map[string]string{"priorities": "1: [.*]"}})},
		{code: "SH406", bad: flags("--expander=nonsense"), want: `"nonsense" is not supported`, severity: doctor.Error},
		{code: "SH407", bad: flags("--scale-down-enabled=false", "--expander=random"), want: "fixed seed", severity: doctor.Info},

		{code: "SH501", bad: healthy().add(70, scaleUp("web-1", "g", "2->3", 70)).update(70, group("g", 3)), object: "Pod default/web-1", want: "had node n2 since", severity: doctor.Warning},
		{code: "SH501", bad: healthy().add(70, scaleUp("web-7", "g", "2->3", 70)), object: "Pod default/web-7", want: "not recorded", severity: doctor.Warning},
		{code: "SH501", bad: reused(65), good: reused(55), object: "Pod default/web-7", want: "was gone since 2026-03-01T12:01:00Z", severity: doctor.Warning},
		{code: "SH501", bad: with(func(s *story) { s.gaps = []history.Gap{{From: at(18), To: at(22), Why: "cut off"}} }), want: "nobody watched pods or nodes", severity: doctor.Warning},
		{code: "SH502", bad: healthy().add(21, scaleUp("web-1", "elsewhere", "0->1", 21)), object: "NodeGroup elsewhere", want: "0->1", severity: doctor.Warning},
		{code: "SH503", bad: healthy().update(70, group("g", 3)), object: "NodeGroup g", want: "2->3, and no event", severity: doctor.Info},
		{code: "SH503", bad: without[*corev1.Event](healthy(), ""), want: "grew in 1 step (this one is the first), and no event of an autoscaler", severity: doctor.Info},
		{code: "SH504", bad: healthy().add(30, scaleUp("web-1", "g", "2->4", 30)), object: "NodeGroup g", want: "2->4, the target size was 2 at most", severity: doctor.Warning},
		{code: "SH505", bad: change(healthy(), "g", func(g *v1alpha1.NodeGroup) { g.Spec.TargetSize = 1 }), want: "1 growth", severity: doctor.Info},
		{code: "SH506", bad: healthy().add(20, twin(scaleUp("web-1", "g", "1->2", 20))), good: healthy().add(20, scaleUp("web-1", "g", "1->2", 20)),
			want: "1 TriggeredScaleUp event was recorded before", severity: doctor.Info},

		{code: "SH601", bad: healthy().add(60, pod("p", schedulerName("volcano"))), good: healthy().add(60, pod("p", schedulerName("default-scheduler"))), want: "scheduler volcano", severity: doctor.Warning},
		{code: "SH602", bad: healthy().add(60, pod("p", func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} })), want: "ResourceClaims", severity: doctor.Error},
		{code: "SH602", bad: healthy().add(60, pod("p", devices, phase(corev1.PodSucceeded))), good: healthy().add(0, pod("p", devices, phase(corev1.PodSucceeded))),
			want: "ResourceClaims (namespace default)", severity: doctor.Error},
		{code: "SH602", bad: change(healthy(), "agent", func(d *appsv1.DaemonSet) {
			d.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		}), object: "DaemonSet default/agent", want: "ResourceClaims (in its template)", severity: doctor.Error},
		{code: "SH603", bad: healthy().add(60, pod("p", func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} })), want: "in a scheduling group", severity: doctor.Error},

		{code: "SH701", bad: usage(0, 10, 20, 30, 100, 110, 120), good: usage(every20...), want: "no usage for 1m10s, until 2026-03-01T12:01:40Z; it usually comes every 10s", severity: doctor.Warning},
		{code: "SH702", bad: samples(0, 10, 20, 30, 40), good: samples(every20...), want: "no series queue_length for 1m20s", severity: doctor.Warning},
	}
}

func created(seconds float64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(at(seconds)) }
}

// inControlPlane puts a node into the control plane.
func inControlPlane(n *corev1.Node) *corev1.Node {
	n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
	return n
}

// bare is a node group without template.
func bare(name string) *v1alpha1.NodeGroup {
	g := group(name, 1)
	g.Spec.Template = nil
	return g
}

func twin(e *corev1.Event) *corev1.Event {
	e.UID, e.Name = "twin", "twin"
	return e
}

func check(t *testing.T, path string, o doctor.Options) *doctor.Report {
	t.Helper()
	r, err := doctor.Check(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// of are the findings with a code.
func of(r *doctor.Report, code string) []doctor.Finding {
	var out []doctor.Finding
	for _, f := range r.Findings {
		if f.Code == code {
			out = append(out, f)
		}
	}
	return out
}

func TestHealthy(t *testing.T) {
	r := check(t, healthy().write(t), doctor.Options{MinSeverity: doctor.Warning})
	if len(r.Findings) > 0 {
		t.Errorf("findings in a healthy history: %+v", r.Findings)
	}
}

func TestRules(t *testing.T) {
	tested := map[string]bool{}
	for _, tt := range ruleTests() {
		tested[tt.code] = true
		t.Run(tt.code+" "+tt.want, func(t *testing.T) {
			t.Parallel()
			found := of(check(t, tt.bad.write(t), doctor.Options{}), tt.code)
			if len(found) == 0 {
				t.Fatalf("nothing found, want %q", tt.want)
			}
			f := found[0]
			if f.Severity != tt.severity || !strings.Contains(f.Object, tt.object) || !strings.Contains(f.Message, tt.want) {
				t.Errorf("%s %q %q, want %s %q %q", f.Severity, f.Object, f.Message, tt.severity, tt.object, tt.want)
			}
			good := tt.good
			if good == nil {
				good = healthy()
			}
			if found := of(check(t, good.write(t), doctor.Options{}), tt.code); len(found) > 0 {
				t.Errorf("found in a history without it: %+v", found)
			}
		})
	}
	for _, tt := range fileTests() {
		tested[tt.code] = true
	}
	for _, r := range doctor.Rules() {
		if !tested[r.Code] {
			t.Errorf("rule %s has no test", r.Code)
		}
	}
}

// fileTest breaks a healthy file in a way that no story can.
type fileTest struct {
	code, want string
	severity   doctor.Severity
	damage     func(t *testing.T, path string)
}

func statements(s ...string) func(*testing.T, string) {
	return func(t *testing.T, path string) { edit(t, path, s...) }
}

func overwrite(content string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mangle edits the bytes of a file.
func mangle(f func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// emptyIndex makes an index forget its rows.
func emptyIndex(name string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		var root, size int
		err = db.QueryRowContext(t.Context(), `SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?`, name).Scan(&root, &size)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		mangle(func(b []byte) []byte {
			copy(b[(root-1)*size+3:], []byte{0, 0}) // the number of cells (https://www.sqlite.org/fileformat.html)
			return b
		})(t, path)
	}
}

func fileTests() []fileTest {
	return []fileTest{
		{"SH001", "bytes", doctor.Error, mangle(func(b []byte) []byte { return b[:len(b)/2] })},
		{"SH001", "malformed", doctor.Error, mangle(func(b []byte) []byte { // the page that was written last
			copy(b[len(b)-4096:], bytes.Repeat([]byte{0xff}, 100))
			return b
		})},
		{"SH001", "on page", doctor.Error, emptyIndex("sqlite_autoindex_content_1")},
		{"SH002", "an object log", doctor.Error, overwrite(`{"at": "2026-01-01T00:00:00Z"}`)},
		{"SH002", "nothing was recorded", doctor.Error, overwrite("")},
		{"SH003", "schema version is 99", doctor.Error, statements(`PRAGMA user_version = 99`)},
		{"SH003", "schema version is 3", doctor.Error, statements(`PRAGMA user_version = 3`)},
		{"SH005", "object that is not there", doctor.Error, statements(`PRAGMA foreign_keys = off`, `DELETE FROM object WHERE name LIKE '%web-1' OR name LIKE '%1'`)},
		{"SH005", "content that is not there", doctor.Error, statements(`PRAGMA foreign_keys = off`, `DELETE FROM content WHERE id = (SELECT content_id FROM version WHERE content_id IS NOT NULL LIMIT 1)`)},
		{"SH006", "it has no version", doctor.Error, statements(`DELETE FROM version WHERE object_id = (SELECT max(object_id) FROM version)`)},
		{"SH006", "seen before the one recorded ahead", doctor.Error, statements(`UPDATE version SET at = 1 WHERE seq = (SELECT max(seq) FROM version)`)},
		{"SH006", "comes after its end", doctor.Error, statements(`UPDATE version SET ends = seq WHERE object_id = (SELECT object_id FROM version GROUP BY object_id HAVING count(*) > 1 LIMIT 1)`)},
		{"SH006", "lives twice under one name", doctor.Error, statements(`UPDATE object SET name = (SELECT name FROM object o WHERE o.scope_id = object.scope_id ORDER BY id LIMIT 1)`)},
		{"SH006", "a keyframe says", doctor.Error, statements(`INSERT INTO keyframe(seq, at, live) SELECT max(seq), max(at), x'01' FROM version`)},
		{"SH007", "content", doctor.Error, statements(`UPDATE content SET json = '[]', hash = x'4f53cda18c2baa0c0354bb5f9a3ecbe5' WHERE id = 1`)},
		{"SH008", "its content (row", doctor.Error, mangle(flip(`"maxSize":`))},
		{"SH008", "its state (row", doctor.Error, mangle(flip(`"phase":"`))},
		{"SH008", "which no version uses", doctor.Error, statements(`INSERT INTO content(id, hash, json) VALUES (9999, x'00', '{}')`)},
	}
}

// flip changes the lowest bit of the byte behind each occurrence of a text: everything but a hash is as valid as before.
func flip(behind string) func([]byte) []byte {
	return func(b []byte) []byte {
		parts := bytes.Split(b, []byte(behind))
		for _, p := range parts[1:] {
			p[0] ^= 1
		}
		return bytes.Join(parts, []byte(behind))
	}
}

func TestFileRules(t *testing.T) {
	for _, tt := range fileTests() {
		t.Run(tt.code+" "+tt.want, func(t *testing.T) {
			t.Parallel()
			path := healthy().write(t)
			tt.damage(t, path)
			r := check(t, path, doctor.Options{})
			found := of(r, tt.code)
			if len(found) == 0 || found[0].Severity != tt.severity || !strings.Contains(found[0].Message, tt.want) {
				t.Errorf("found %+v, want %s %s with %q", r.Findings, tt.severity, tt.code, tt.want)
			}
		})
	}
}
