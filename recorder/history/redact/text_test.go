package redact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// texts are the rewriters of single texts, by what they rewrite.
var texts = map[string]func(r *rewriter, s string) string{
	"message":    (*rewriter).message,
	"status":     (*rewriter).status,
	"why":        (*rewriter).why,
	"arguments":  func(r *rewriter, s string) string { return strings.Join(r.arguments(strings.Split(s, " ")), " ") },
	"label key":  (*rewriter).labelKey,
	"resource":   (*rewriter).resource,
	"image":      (*rewriter).image,
	"version":    (*rewriter).apiVersion,
	"provider":   (*rewriter).providerID,
	"disk":       (*rewriter).diskURI,
	"component":  (*rewriter).component,
	"field path": (*rewriter).fieldPath,
	"address":    (*rewriter).hostIP,
	"pairs":      (*rewriter).pairs,
	"kinds":      func(r *rewriter, s string) string { return r.kinds([]string{s})[0] },
	"machine":    func(r *rewriter, s string) string { return r.labelValue("node.kubernetes.io/instance-type", s) },
	"compared":   func(r *rewriter, s string) string { r.numeric["size"] = true; return r.labelValue("size", s) },
	"annotation": func(r *rewriter, s string) string {
		return r.annotation("scheduler.alpha.kubernetes.io/node-selector", s)
	},
	"driver": func(r *rewriter, s string) string {
		return r.annotation("storage.alpha.kubernetes.io/migrated-plugins", s)
	},
	"taints": func(r *rewriter, s string) string {
		return r.annotation("capacity.cluster-autoscaler.kubernetes.io/taints", s)
	},
	"schedule": func(r *rewriter, s string) string { return r.customText("schedule", "", s) },
	"duration": func(r *rewriter, s string) string { return r.customText("duration", "", s) },
	"enum":     func(r *rewriter, s string) string { return r.customText("phase", "", s) },
	"time":     func(r *rewriter, s string) string { return r.customText("lastTransitionTime", "", s) },
	"amount":   func(r *rewriter, s string) string { return r.customResource("cpu", s).(string) },
}

// fragments are what texts are made of that some rewriter knows.
func fragments() []string {
	out := strings.Fields(messageFormats + unfitFormats + preemptionFormats + keysOf)
	return append(out, "1", "12", "5->6", "1/2", "10m", "2026-01-05T08:00:00Z", "m=+1.5", "{a: b:NoSchedule}", "{g 1->2 (max: 5)}", "--nodes=1:2:", "--v=", "=", ":", "/", "-",
		"registry/cluster-autoscaler:v1.30.0-", "attachable-volumes-csi-", "hugepages-", "requests.", "count/", "aws:///", "m5.large", "Standard_D4s_v5", "v1.2.3",
		"nodeGroups:\n- name: ", "\n  health: ", "errorCode: ", "lastProbeTime: ", "Query:", "Pod", "@daily", "* * * * *", "Running", "4Gi", "spec.containers{", "}", "::1%")
}

// TestNoTextKeepsASecret: whatever is around a secret, in whatever place, it does not stay.
func TestNoTextKeepsASecret(t *testing.T) {
	known := fragments()
	rapid.Check(t, func(t *rapid.T) {
		const word, number = "zq1z", "731912345678"
		parts := rapid.SliceOfN(rapid.SampledFrom(known), 0, 6).Draw(t, "parts")
		at := rapid.IntRange(0, len(parts)).Draw(t, "place")
		secret := rapid.SampledFrom([]string{word, number}).Draw(t, "secret")
		parts = append(parts[:at:at], append([]string{secret}, parts[at:]...)...)
		s := strings.Join(parts, rapid.SampledFrom([]string{" ", "", ", "}).Draw(t, "between"))
		r := newRewriter(Options{Salt: saltA})
		for _, rewrite := range texts {
			rewrite(r, s)
		}
		if err := r.settle(); err != nil {
			t.Skip(err) // a name that is too long
		}
		for what, rewrite := range texts {
			if now := rewrite(r, s); strings.Contains(strings.ToLower(now), secret) {
				t.Fatalf("%s: %q became %q", what, s, now)
			}
		}
		if r.err != nil {
			t.Fatal(r.err)
		}
	})
}
