package main

import (
	"fmt"
	"strings"
	"testing"
)

// entrances are inputs that are small as text, near the largest that is taken, and as large in memory as they can be.
// docs/security.md has them as a table.
var entrances = []struct {
	name    string
	command string // how the target begins
	input   func() string
	how     delivery
}{
	{"import, lines of empty containers", "import {in} -o {out}/x.db; inspect {in} -o json", func() string {
		var b strings.Builder
		for i := range 4 {
			fmt.Fprintf(&b, `{"at":"2026-01-01T00:00:%02dZ","op":"add","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p-%d","namespace":"a"},"spec":{"containers":[%s{}]}}}`+"\n",
				i, i, strings.Repeat("{},", 150_000))
		}
		return b.String()
	}, ""},
	{"scenario of empty lists", "test {in} --list", func() string { return "history: x.db\nexpect: [" + strings.Repeat("[],", 4<<20/3-20) + "]\n" }, ""},
	{"scenario of keys", "test {in} --list", func() string { return "history: x.db\nexpect: {" + manyYAMLKeys(380_000) + "}\n" }, ""},
	{"price table of empty lists", "replay {root}/" + goodHistory + " --prices", func() string { return "currency: EUR\nlists: [" + strings.Repeat("[],", 4<<20/3-20) + "]\n" }, ""},
	{"price table of keys", "replay {root}/" + goodHistory + " --prices", func() string { return "currency: EUR\nnodeGroups: {" + manyYAMLKeys(380_000) + "}\n" }, ""},
	{"faults of empty objects", "replay {root}/" + goodHistory + " --faults", func() string { return "faults: [" + strings.Repeat("{},", 4<<20/3-20) + "]\n" }, ""},
	{"request of empty objects", "recommender serve --listen 127.0.0.1:0, sent POST /v1/recommend", func() string {
		return `{"apiVersion":"recommender.scalehist.io/v1","now":"2026-03-01T10:00:00Z","objects":[{}` + strings.Repeat(",{}", 20<<20) + "]}"
	}, gzipped},
	{"four requests at once", "recommender serve --listen 127.0.0.1:0, sent POST /v1/recommend", func() string {
		return `{"apiVersion":"recommender.scalehist.io/v1","now":"2026-03-01T10:00:00Z","nodeGroups":[{}` + strings.Repeat(",{}", 200_000) + "]}"
	}, four},
	{"upload of what is no history", "serve", func() string { return strings.Repeat("SQLite format 3\x00", 4<<20) }, chunked},
	{"answer of groups", "recommend --history {root}/" + goodHistory + " --server http://{server} --timeout 3s -o json", func() string {
		return `{"apiVersion":"recommender.scalehist.io/v1","recommendation":{"scaleUps":[{}` + strings.Repeat(",{}", 20<<20) + "]}}"
	}, gzipped},
}

func manyYAMLKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1,", i)
	}
	return b.String()
}

// TestEntrancesStayWithinBounds: what is made to be large in memory is refused, or takes no more than the bound of every command.
func TestEntrancesStayWithinBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scalehist a dozen times")
	}
	r := attacker(t)
	for _, e := range entrances {
		t.Run(e.name, func(t *testing.T) {
			mine := r
			mine.peaks = &peaks{}
			var of target
			for _, x := range targets() {
				if of.command == "" && strings.HasPrefix(x.line(), e.command) {
					of = x
				}
			}
			if of.command == "" {
				t.Fatalf("there is no target %q", e.command)
			}
			wrong, err := mine.run(t.Context(), attack{target: of, input: []byte(e.input()), Delivery: e.how}, t.TempDir())
			if err != nil || len(wrong) > 0 {
				t.Errorf("%v\n%s", err, strings.Join(wrong, "\n"))
			}
			var out strings.Builder
			mine.peaks.print(&out, r.within.memory)
			t.Log(out.String())
		})
	}
}
