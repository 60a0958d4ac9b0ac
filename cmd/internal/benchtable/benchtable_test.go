package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `# kubernetes: v1.36.3
# load before: 1.0 2.0 3.0
goos: linux
cpu: AMD EPYC
pkg: example.com/harness
BenchmarkBoot/plane=envtest-4   	 1	2000000000 ns/op	 1.5 load1
BenchmarkBoot/plane=envtest-4   	 1	4000000000 ns/op	 1.5 load1
BenchmarkBoot/plane=memory-4    	 500	   5000000 ns/op	 1.5 load1
BenchmarkBulk/nodes=500/pods=5000/plane=memory-4   	 1	1000000000 ns/op	 5000 pods/s	 212 peak-MB/op
BenchmarkWeek/plane=memory-4 	 1	9000000000 ns/op	 100 heap-MB-day1	 110 heap-MB-day2	 20 report-MB/op
    bench_test.go:32: BenchmarkX
BenchmarkScaleUp-4 	 7	140000000 ns/op	 12 allocs/op
PASS
`

const wantPage = `# Measured

- kubernetes: v1.36.3
- load before: 1.0 2.0 3.0
- goos: linux
- cpu: AMD EPYC

Seconds are wall time, the median of the runs and their range. ` + "`load1`" + ` is the load average when a benchmark ended: on a machine that
is busy with other things, read ` + "`cpu s`" + `.

## Control planes, seconds

| benchmark | envtest | memory | envtest / memory |
|---|---|---|---|
| Boot | 3.00 (2.00-4.00) | 0.005 | 600x |
| Bulk/nodes=500/pods=5000 |  | 1.00 |  |
| Week |  | 9.00 |  |

## Where time and memory go

| benchmark | plane | runs | seconds | pods/s | peak MB, all processes | report MB | load1 |
|---|---|---|---|---|---|---|---|
| Boot | envtest | 2 | 3.00 |  |  |  | 1.50 |
| Boot | memory | 1 | 0.005 |  |  |  | 1.50 |
| Bulk/nodes=500/pods=5000 | memory | 1 | 1.00 | 5000 | 212 |  |  |
| Week | memory | 1 | 9.00 |  |  | 20.0 |  |

## Live heap after each virtual day, MB

| benchmark | plane | day 1 | day 2 | growth | report, in proportion |
|---|---|---|---|---|---|
| Week | memory | 100 | 110 | 10.0 | 10.0 |

## Budgets

| benchmark | plane | what | budget | measured |  |
|---|---|---|---|---|---|
| Boot | envtest | from nothing | 2.00 s | 3.00 s | **missed** |
| Bulk/nodes=500/pods=5000 | memory |  | 300 MB | 212 MB | kept |

## Beside others, seconds

| benchmark | plane | ours | who | theirs | theirs / ours | source |
|---|---|---|---|---|---|---|
| ScaleUp |  | 0.140 | upstream | 0.690 | 4.93x | a page |

## The rest, seconds

| benchmark | seconds | runs | metrics |
|---|---|---|---|
| harness.ScaleUp | 0.140 | 1 | 12.0 allocs/op |
`

const refs = `
- benchmark: Boot
  what: from nothing
  budgets: [{plane: envtest, seconds: 2}]
- benchmark: Bulk/nodes=500/pods=5000
  budgets: [{plane: memory, peakMB: 300}]
- benchmark: ScaleUp
  published: [{who: upstream, seconds: 0.69, source: a page}]
`

func TestPage(t *testing.T) {
	var b strings.Builder
	if err := run([]string{"-published", file(t, "refs.yaml", refs), file(t, "bench.txt", output)}, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantPage, b.String()); diff != "" {
		t.Errorf("the page differs (-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct{ refs, bench, want string }{
		"no results":     {refs, "PASS\n", "no benchmark results"},
		"no number":      {refs, "BenchmarkX-4 1 many ns/op\n", `"many" is no number`},
		"unknown key":    {"- benchmark: X\n  size: 1\n", output, "unknown field"},
		"no name":        {"- what: x\n", output, "entry 1 has no benchmark"},
		"without source": {"- {benchmark: X, published: [{who: a, seconds: 1}]}\n", output, "needs who, seconds and source"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run([]string{"-published", file(t, "refs.yaml", c.refs), file(t, "bench.txt", c.bench)}, &strings.Builder{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestReferences: the file there is names what it says by the rules above.
func TestReferences(t *testing.T) {
	if _, err := readReferences(filepath.Join("..", "..", "..", "bench", "published.yaml")); err != nil {
		t.Error(err)
	}
}

func file(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
