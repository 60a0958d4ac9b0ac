package scenarios

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recorder/history/redact"
	"github.com/scalehist/scalehist/report"
)

// comparison is a report as JSON values, without what names the input: the scenario (the file's name) and the hashes of
// what went in.
func comparison(r *scalehist.ReplayReport) any {
	GinkgoHelper()
	c := *r
	c.Scenario, c.Inputs = "", nil
	b, err := report.Canonical(&c)
	Expect(err).NotTo(HaveOccurred())
	var out any
	Expect(json.Unmarshal(b, &out)).To(Succeed())
	return out
}

// restored puts the original names back into every key and text of a report.
func restored(m *redact.Mapping, v any) any {
	switch v := v.(type) {
	case string:
		return m.Restore(v)
	case []any:
		for i := range v {
			v[i] = restored(m, v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[m.Restore(k)] = restored(m, e)
		}
		return out
	}
	return v
}

// Ties between equals are broken by hashes of names, which are others in a redacted history. So both are replayed with
// ties broken by creation: all else about a replay may depend on how names sort, and on nothing more of them. They are replayed in
// memory: that planes report alike is for the specs that replay the same histories on both.
var _ = Describe("A redacted history", Ordered, unraced, func() {
	options := func() []harness.Option {
		return []harness.Option{ClusterAutoscaler(), harness.With(func(s *harness.Settings) { s.Ties = harness.TiesByCreation })}
	}
	replaysAlike := func(ctx SpecContext, src string) {
		path := filepath.Join(GinkgoT().TempDir(), "redacted.db")
		result, err := redact.File(ctx, src, path, redact.Options{Salt: []byte("a salt for tests, not secret")})
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Warnings).To(BeEmpty())

		original, err := replayInMemory(ctx, 0, History("original", src), options()...)
		Expect(err).NotTo(HaveOccurred())
		ofRedacted, err := replayInMemory(ctx, 0, History("redacted", path), options()...)
		Expect(err).NotTo(HaveOccurred())

		Expect(ofRedacted.NodeGroups[0].Name).NotTo(Equal(original.NodeGroups[0].Name), "nothing was renamed")
		Expect(cmp.Diff(comparison(original), restored(result.Mapping, comparison(ofRedacted)))).To(BeEmpty())
	}
	for _, name := range recordings() {
		It("replays like the original up to renaming: "+name, func(ctx SpecContext) {
			replaysAlike(ctx, recording(name))
		}, SpecTimeout(2*time.Minute))
	}
})
