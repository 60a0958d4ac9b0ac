package redact

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// rewritten is what both passes make of a text.
func rewritten(t *testing.T, rewrite func(r *rewriter, s string) string, s string) (string, *Mapping) {
	t.Helper()
	r := newRewriter(Options{Salt: saltA})
	rewrite(r, s)
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	now := rewrite(r, s)
	if r.err != nil {
		t.Fatal(r.err)
	}
	return now, r.mapping
}

// TestMessages: a message that upstream writes keeps its form, and what is fixed in it.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"pod triggered scale-up: [{web 1->2 (max: 5)} {api.db 0->3 (max: 3)}]", "pod triggered scale-up: [{# 1->2 (max: 5)} {#.# 0->3 (max: 3)}]"},
		{"Scale-up: group node size set to 2 instead of 1 (max: 5)", "Scale-up: group node size set to 2 instead of 1 (max: 5)"}, // a public word
		{"Scale-up: group web size set to 2 instead of 1 (max: 5)", "Scale-up: group # size set to 2 instead of 1 (max: 5)"},
		{"pod didn't trigger scale-up: ", "pod didn't trigger scale-up: "},
		{"pod didn't trigger scale-up: 1 max cluster cpu, memory limit reached, 2 Insufficient acme.com/fpga, 1 node(s) had untolerated taint {team: web}, 3 of our own",
			"pod didn't trigger scale-up: 1 max cluster cpu, memory limit reached, 2 Insufficient #.#/#, 1 node(s) had untolerated taint {#: #}, 3 redacted-#"},
		{"Failed adding 1 nodes (1 unseen previously) to group web due to OutOfResources.placeholder-cannot-be-fulfilled; source errors: AWS said no",
			"Failed adding 1 nodes (1 unseen previously) to group # due to OutOfResources.placeholder-cannot-be-fulfilled; source errors: redacted-#"},
		{"Nodes added to group web failed to register within 15m3.25s", "Nodes added to group # failed to register within 15m3.25s"},
		{"Scale-down: removing node web-1, utilization: {0.06 0.031250 0 cpu 0.06}, pods to reschedule: shop/api-7,shop/db",
			"Scale-down: removing node #-1, utilization: {0.06 0.031250 0 cpu 0.06}, pods to reschedule: #/#-7,#/#"},
		{"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {team: web}. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.",
			"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {#: #}. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."},
		{"0/1 nodes are available: persistentvolumeclaim \"web\" not found. preemption: not eligible due to preemptionPolicy=Never.",
			"0/1 nodes are available: persistentvolumeclaim \"#\" not found. preemption: not eligible due to preemptionPolicy=Never."},
		{"0/0 nodes are available: .", "0/0 nodes are available: ."},
		{"Successfully assigned shop/api-7 to web-1", "Successfully assigned #/#-7 to #-1"},
		{"Preempted by pod 3f3a5b1c-77aa-4bb2-9c01-d2e3f4a5b6c7 on node web-1", "Preempted by pod UID on node #-1"},
		{"running PreBind plugin \"VolumeBinding\": no space", "running PreBind plugin \"VolumeBinding\": redacted-#"},
		{"Scaled up replica set web from 1 to 2", "Scaled up replica set # from 1 to 2"},
		{"Created pod: web-x2", "Created pod: #-#"},
		{"(combined from similar events): Scale-up: group web size set to 2 instead of 1 (max: 5)", "(combined from similar events): Scale-up: group # size set to 2 instead of 1 (max: 5)"},
		{"something else", "redacted-#"},
		{"Created pod: web-x2\nmore", "redacted-#"},
	} {
		now, m := rewritten(t, (*rewriter).message, c.message)
		if back := m.Restore(now); back != c.message {
			t.Errorf("%q became %q, which restores to %q", c.message, now, back)
		}
		for _, w := range slices.Sorted(maps.Values(m.Words)) {
			now = strings.ReplaceAll(now, w, "#")
		}
		for _, u := range m.Names["uid"] {
			now = strings.ReplaceAll(now, u, "UID")
		}
		for text := range m.Texts {
			now = strings.ReplaceAll(now, text, redactedText+"#")
		}
		if now != c.want {
			t.Errorf("%q\ngot  %q\nwant %q", c.message, now, c.want)
		}
	}
}

// TestFormatsHoldNoName: whatever is where a format says that something varies, it does not stay, word or number; and no
// format keeps a part of a text that continues behind it.
func TestFormatsHoldNoName(t *testing.T) {
	var hostile []string
	for _, line := range strings.Split(strings.TrimSpace(messageFormats+unfitFormats+preemptionFormats), "\n") {
		for _, secret := range []string{"zq1z", "123456789012", "m=zq1z", "zq1z->zq1z", "zq1z/zq1z", "{zq1z}", "{a: b:zq1z}", "3 zq1z", "2026-01-05T08:00:00Zzq1z", "7zq1z"} {
			hostile = append(hostile, angled.ReplaceAllString(line, secret), line+secret, line+" "+secret, line+"\n"+secret)
		}
		for i := range newFormat(line).vars { // one secret, the rest as it is said
			n := 0
			hostile = append(hostile, angled.ReplaceAllStringFunc(line, func(string) string {
				if n++; n-1 == i {
					return "zq1z"
				}
				return "5"
			}))
		}
	}
	r := newRewriter(Options{Salt: saltA})
	pass := func(check func(was, is string)) {
		for _, message := range hostile {
			for _, rewrite := range []func(*rewriter, string) string{(*rewriter).message, (*rewriter).reasons, (*rewriter).preemption, (*rewriter).status} {
				check(message, rewrite(r, message))
			}
		}
	}
	pass(func(string, string) {})
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	pass(func(was, is string) {
		if strings.Contains(is, "zq1z") || strings.Contains(is, "123456789012") {
			t.Errorf("%q became %q", was, is)
		}
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
}

// TestStatus: the status of either form stays, but for names and what providers say.
func TestStatus(t *testing.T) {
	for _, status := range []string{
		"autoscalerStatus: Running\nclusterWide:\n  health:\n    status: Healthy\n    nodeCounts:\n      registered:\n        total: 3\n        ready: 3\n    lastTransitionTime: \"2026-01-05T08:00:00.123456789Z\"\n  scaleDown:\n    status: NoCandidates\nnodeGroups:\n- name: GROUP\n  health:\n    status: Healthy\n    cloudProviderTarget: 3\n    minSize: 1\n    maxSize: 5\n  scaleUp:\n    status: Backoff\n    backoffInfo:\n      errorCode: OUT_OF_RESOURCES\n",
		"Cluster-wide:\n  Health:      Healthy (ready=3 unready=0 (resourceUnready=0) notStarted=0 longNotStarted=0 registered=3 longUnregistered=0)\n               LastTransitionTime: 2026-01-05 08:00:00.123456789 +0000 UTC m=+7.123456789\n  ScaleUp:     NoActivity (ready=3 registered=3)\n\nNodeGroups:\n  Name:        GROUP\n  Health:      Healthy (ready=3 cloudProviderTarget=3 (minSize=1, maxSize=5))\n  ScaleDown:   NoCandidates (candidates=0)\n",
	} {
		original := strings.ReplaceAll(status, "GROUP", "web")
		now, m := rewritten(t, (*rewriter).status, original)
		if want := strings.ReplaceAll(status, "GROUP", m.Words["web"]); now != want {
			t.Errorf("got\n%s\nwant\n%s", now, want)
		}
	}
}

// TestFixtureMessages: what the autoscaler, the scheduler and the controllers said in the fixtures is all of a format that is known.
//
//scalehist:unraced
func TestFixtureMessages(t *testing.T) {
	seen := 0
	for _, src := range fixtures(t) {
		eachLine(t, src, func(l objectlog.Line) {
			message := ""
			switch o := l.Object.(type) {
			case *corev1.Event:
				message = o.Message
			case *eventsv1.Event:
				message = o.Note
			case *corev1.Pod:
				for _, c := range o.Status.Conditions {
					if c.Message != "" {
						message = c.Message
					}
				}
			}
			if message == "" {
				return
			}
			seen++
			if now, _ := rewritten(t, (*rewriter).message, message); strings.Contains(now, redactedText) && !strings.Contains(message, "source errors") {
				t.Errorf("%s: %q became %q", src, message, now)
			}
		})
	}
	if seen < 100 {
		t.Errorf("only %d messages in the fixtures", seen)
	}
}

// TestDiskURIs: an API server takes the disks of a copy as it took those of the original.
func TestDiskURIs(t *testing.T) {
	for uri, want := range map[string]string{
		"/subscriptions/ab/resourceGroups/rg/providers/Microsoft.Compute/disks/d": "/subscriptions/#/resourceGroups/#/providers/Microsoft.Compute/disks/#",
		"https://acc.blob.core.windows.net/vhds/d-1.vhd":                          "https://#.blob.core.windows.net/#/#-1.vhd",
		"something": "#",
	} {
		now, m := rewritten(t, (*rewriter).diskURI, uri)
		for _, w := range slices.Sorted(maps.Values(m.Words)) {
			now = strings.ReplaceAll(now, w, "#")
		}
		if now != want {
			t.Errorf("%s became %s, want %s", uri, now, want)
		}
	}
}
