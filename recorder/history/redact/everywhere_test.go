package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/canary"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/projection"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// positions is how many texts an attack found in object logs. There are at least as many here.
const positions = 2476

// dresses are forms around a canary that some code takes for what it knows.
var dresses = []string{"node_%s", "kubernetes.io/%s", "v1.2.3-%s", "-%s", "--v=%s", "m=%s", "attachable-volumes-csi-%s", "Query:%s", "aws:///%s",
	"Running m=%s", "a=b:%s", "Standard_D4_%s", "10m%s", "2026-01-05T08:00:00Z%s", "apps/%s", "::1%%%s", "kube-%s", "True %s",
	"pod triggered scale-up: [{g 1->2 (max: 5)}] m=%s", "0/3 nodes are available: 3 node(s) had untolerated taint {a: b:%s}.",
	"pod didn't trigger scale-up: 1 %s", "Scale-up: group g size set to 2 instead of 1 (max: 5) %s", "Scale-down: node %s removed with drain",
	"autoscalerStatus: Running\n%s: Healthy", "- name: g\n  errorCode: %s"}

// exception is a place where a number of twelve digits is left, and why. docs/redact.md lists them too. No word is left anywhere.
type exception struct {
	place *regexp.Regexp
	why   string
}

// exceptions are all there are.
var exceptions = []exception{
	{regexp.MustCompile(`^(MachineClass|Worker|NodePool|NodeClaim|Machine|MachineSet|MachineDeployment|Rollout|VerticalPodAutoscaler|VerticalPodAutoscalerCheckpoint|ScaledObject|ElastiService)\..*\.(limits|target|lowerBound|upperBound|uncappedTarget)\.memory$`),
		"an amount of memory or storage is a number of any size, as bytes have twelve digits too"},
	{regexp.MustCompile(`\.annotations\.capacity\.cluster-autoscaler\.kubernetes\.io/(memory|ephemeral-disk)$`),
		"an amount of memory or storage is a number of any size, as bytes have twelve digits too"},
}

func excepted(place string) bool {
	return slices.ContainsFunc(exceptions, func(e exception) bool { return e.place.MatchString(place) })
}

// logged is an object log with a canary in every text.
func logged(t *testing.T, objects []scalehist.Object) string {
	t.Helper()
	var b bytes.Buffer
	w := objectlog.NewWriter(&b, false)
	for _, o := range objects {
		if err := w.Write(objectlog.Line{At: canary.At, Op: scalehist.OpAdd, Object: o}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// recorded writes the objects as a recorder does, of a cluster of this name.
func recorded(t *testing.T, cluster string, objects []scalehist.Object) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recorded.db")
	w, err := history.Create(t.Context(), path, history.Options{Cluster: cluster, Source: "recorder"})
	if err != nil {
		t.Fatal(err)
	}
	try := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Begin(t.Context(), canary.At, []string{"Query:" + cluster})
	try(err)
	for i, o := range objects {
		at := canary.At.Add(time.Duration(i) * time.Second)
		switch o := o.(type) {
		case *objectlog.Recording:
		case *objectlog.Gap:
			try(w.Gap(t.Context(), history.Gap{From: at, To: at, Kinds: o.Spec.Kinds, Why: o.Spec.Why}))
		case *objectlog.Usage:
			u := history.Usage{At: at, Container: o.Spec.Container}
			u.Pod.Namespace, u.Pod.Name = o.Namespace, o.Name
			try(w.Usage(t.Context(), []history.Usage{u}))
		case *objectlog.Sample:
			try(w.Sample(t.Context(), []history.Sample{{Series: o.Name, Labels: o.Spec.Labels, At: at}}))
		default:
			try(w.Write(t.Context(), []history.Entry{{ObservedAt: at, Change: scalehist.Change{Op: scalehist.OpAdd, Object: o}}}))
		}
	}
	try(w.End(t.Context(), canary.At.Add(time.Hour)))
	try(w.Close())
	return path
}

// left are the canaries in a text.
func left(text string, all []canary.Canary) []canary.Canary {
	text = strings.ToLower(text)
	found := map[string]bool{}
	for _, s := range canaryForm.FindAllString(text, -1) {
		found[s] = true
	}
	var out []canary.Canary
	for _, c := range all {
		if found[c.Text] {
			out = append(out, c)
		}
	}
	return out
}

var canaryForm = regexp.MustCompile(`zq\d{5}z|7319\d{8}`)

// TestCanariesEverywhere: a canary in every text that an object log can hold, recorded and imported, redacted, exported and
// compacted; none is left. What is never stored is not in the history either.
//
//scalehist:unraced
func TestCanariesEverywhere(t *testing.T) {
	for _, digits := range []bool{false, true} {
		t.Run(map[bool]string{false: "words", true: "numbers of twelve digits"}[digits], func(t *testing.T) {
			cage := &canary.Cage{Digits: digits}
			objects := cage.Objects()
			if len(cage.Canaries) < positions {
				t.Errorf("%d canaries, want %d or more", len(cage.Canaries), positions)
			}
			src := filepath.Join(t.TempDir(), "imported.db")
			if _, err := transfer.Import(t.Context(), strings.NewReader(logged(t, objects)), src, transfer.ImportOptions{Name: "log"}); err != nil {
				t.Fatal(err)
			}
			for _, src := range []string{src, recorded(t, cage.Text("cluster"), objects)} {
				stored := left(dump(t, src), cage.Canaries)
				if len(stored) < positions {
					t.Errorf("%s: only %d canaries are in the history, want %d or more", filepath.Base(src), len(stored), positions)
				}
				t.Logf("%s: %d canaries, %d in the history", filepath.Base(src), len(cage.Canaries), len(stored))
				for _, c := range stored {
					if secretPlace(c.Place) {
						t.Errorf("%s: %s is stored: %s", filepath.Base(src), c.Place, c.Text)
					}
				}
				dst, _ := redacted(t, src, Options{})
				if _, err := history.Compact(t.Context(), dst); err != nil {
					t.Fatal(err)
				}
				for _, c := range left(dump(t, dst), cage.Canaries) {
					if !digits || !excepted(c.Place) {
						t.Errorf("%s: %s is in the copy: %s", filepath.Base(src), c.Place, c.Text)
					}
				}
			}
		})
	}
}

// TestDressedCanaries: nor is one left that is in a form that the code knows, wherever that is.
//
//scalehist:unraced
func TestDressedCanaries(t *testing.T) {
	for _, dress := range dresses {
		cage := &canary.Cage{Dress: dress}
		objects := cage.Objects()
		r := newRewriter(Options{Salt: saltA})
		kept := func() (out []scalehist.Object) {
			for _, o := range objects {
				if k, ok := projection.Of(o); ok {
					out = append(out, k)
				} else if isRecord(o) {
					out = append(out, o.DeepCopyObject().(scalehist.Object))
				}
			}
			return out
		}
		for _, o := range kept() {
			r.object(o)
		}
		if err := r.settle(); err != nil {
			t.Fatalf("%s: %v", dress, err)
		}
		var was, is bytes.Buffer
		for _, o := range kept() {
			fmt.Fprintf(&was, "%s\n", marshalled(t, o))
			r.object(o)
			fmt.Fprintf(&is, "%s\n", marshalled(t, o))
		}
		if r.err != nil {
			t.Fatalf("%s: %v", dress, r.err)
		}
		if n := len(left(was.String(), cage.Canaries)); n < positions {
			t.Errorf("%s: only %d canaries were there", dress, n)
		}
		for _, c := range left(is.String(), cage.Canaries) {
			t.Errorf("%s: %s is left: %s", dress, c.Place, c.Text)
		}
	}
}

// isRecord says whether an object is one of a log but not of a cluster, and is rewritten as it is.
func isRecord(o scalehist.Object) bool {
	switch o.(type) {
	case *objectlog.Recording, *objectlog.Gap, *objectlog.Usage, *objectlog.Sample, *corev1.Event, *eventsv1.Event:
		return true
	}
	return false
}

func marshalled(t *testing.T, o scalehist.Object) []byte {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// neverStored are places of which a history keeps nothing: what runs in containers and how it is watched, secrets, and whole
// objects in disguise.
var neverStored = regexp.MustCompile(`^(Secret|ServiceAccount|Lease|Endpoints|EndpointSlice|ControllerRevision|CronJob)\.|` +
	`\.(managedFields|finalizers|selfLink|generateName|resourceVersion|env|envFrom|workingDir|volumeMounts|volumeDevices|livenessProbe|readinessProbe|` +
	`startupProbe|lifecycle|securityContext|imagePullSecrets|hostAliases|dnsConfig|serviceAccountName|hostname|subdomain|ephemeralContainers|` +
	`imageID|containerID|podIP|podIPs|hostIP|images|nodeInfo|addresses|daemonEndpoints|binaryData|` +
	`controllerPublishSecretRef|nodeStageSecretRef|nodePublishSecretRef|volumeAttributes|parameters|mountOptions)(\[\]|\{\}|\{key\}|\.|$)|` +
	`\{last-applied\}|\.volumes\[\]\.(secret|configMap|projected|downwardAPI|nfs|iscsi|glusterfs|rbd|flexVolume|cephfs|image|hostPath)\b|` +
	`\.containers\[\]\.(command|args)\[\]|ontainerStatuses\[\]\.(image|user|stopSignal|state\.waiting)\b|terminated\.message$|` +
	`\.currentMetrics\[\]|\.triggers\[\]\.metadata\.secret|^Deployment\.args\.(secret|dash)$|\{\}\.message$`)

func secretPlace(place string) bool {
	return neverStored.MatchString(place) && !strings.Contains(place, "ontainers[].ports[].hostIP") // that of a port is kept
}

// TestEveryColumn: every column of a history that holds text has a canary in it, or says here why it has none.
func TestEveryColumn(t *testing.T) {
	without := map[string]string{
		"meta.key": "ours", "version.times": "numbers", "version.object_at": "a number", "event.api": "one of two", "content.hash": "a hash",
		"keyframe.live": "numbers", "scope.kind": "one of those that are kept",
	}
	cage := &canary.Cage{}
	src := recorded(t, cage.Text("cluster"), cage.Objects())
	columns := query(t, src, `SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.type IN ('TEXT', 'ANY', 'BLOB')`)
	if len(columns) < 25 {
		t.Errorf("only %d columns of text: %q", len(columns), columns)
	}
	for _, at := range columns {
		table, column, _ := strings.Cut(at, ".")
		found := left(strings.Join(query(t, src, fmt.Sprintf(`SELECT CAST(%q AS TEXT) FROM %q WHERE %q IS NOT NULL`, column, table, column)), "\n"), cage.Canaries)
		if why := without[at]; why == "" && len(found) == 0 {
			t.Errorf("no canary in %s", at)
		} else if why != "" && len(found) > 0 {
			t.Errorf("a canary in %s, which should have none: %s", at, why)
		}
	}
}

// TestExceptionsAreDocumented: what is left in a copy is listed for those who read the page.
func TestExceptionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/redact.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, e := range exceptions {
		if !strings.Contains(text, e.why) {
			t.Errorf("docs/redact.md does not say: %s", e.why)
		}
	}
}
