package promserve

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/load/imports"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// fed is what the containers of two pods used, scraped every 15 s as from cAdvisor: of each scrape by which a rate is known, the mean millicores since the
// one before, and the bytes then. web-1 misses some scrapes, starts again now and then, and is away for twenty minutes.
type fed struct {
	samples []sample
	usage   []string // "10:00:20 web-0 250m 314572800"
}

const scrape = 15 * time.Second

func feed() fed {
	rng := rand.New(rand.NewPCG(3, 1)) //nolint:gosec // a test's
	var out fed
	for _, pod := range []string{"web-0", "web-1"} {
		var last time.Time
		var total, since, scrapes int64 // millicores times scrapes
		for at := epoch.Add(5 * time.Second); at.Before(epoch.Add(2 * time.Hour)); at = at.Add(scrape) {
			if away := at.Sub(epoch); pod == "web-1" && away > 40*time.Minute && away < time.Hour {
				continue
			}
			if pod == "web-1" && last.Equal(at.Add(-scrape)) && rng.IntN(100) == 0 {
				total = 0 // it began again just after the scrape before
			}
			used := int64(rng.IntN(3000))
			total, since, scrapes = total+used, since+used, scrapes+1
			if pod == "web-1" && rng.IntN(50) == 0 {
				continue
			}
			l := func(name string) map[string]string {
				return map[string]string{"__name__": name, "namespace": "shop", "pod": pod, "container": "app", "id": "/kubepods/" + pod}
			}
			memory := 1<<28 + int64(rng.IntN(1<<28))
			out.samples = append(out.samples, sample{l("container_cpu_usage_seconds_total"), at.UnixMilli(), float64(total) / 1000 * scrape.Seconds()},
				sample{l("container_memory_working_set_bytes"), at.UnixMilli(), float64(memory)})
			if !last.IsZero() && at.Sub(last) < 5*time.Minute {
				out.usage = append(out.usage, fmt.Sprintf("%s %s %dm %d", at.Format(time.TimeOnly), pod, (since+scrapes-1)/scrapes, memory))
			}
			last, since, scrapes = at, 0, 0
		}
	}
	slices.Sort(out.usage)
	return out
}

// minutes are what is seen of web-0 at the minutes from the second on: the mean of four scrapes, the last of them ten seconds ago.
func (f fed) minutes() (out []string) {
	var sum int64
	n := 0
	for _, line := range f.usage {
		var at, pod string
		var milli, memory int64
		if _, err := fmt.Sscanf(line, "%s %s %dm %d", &at, &pod, &milli, &memory); err != nil || pod != "web-0" {
			continue
		}
		sum += milli
		if n++; strings.HasSuffix(at, ":50") {
			if n == 4 {
				seen, _ := time.Parse(time.TimeOnly, at)
				out = append(out, fmt.Sprintf("%s %s %dm %d", seen.Add(10*time.Second).Format(time.TimeOnly), pod, (sum+3)/4, memory))
			}
			sum, n = 0, 0
		}
	}
	return out
}

// importedFrom are the answers of a Prometheus to a query of both metrics, as `scalehist import --format prometheus` reads them.
func importedFrom(t *testing.T, address, path string, ask func(metric string) url.Values) []string {
	t.Helper()
	var inputs []imports.Input
	for _, metric := range []string{"container_cpu_usage_seconds_total", "container_memory_working_set_bytes"} {
		inputs = append(inputs, imports.Input{Name: metric, Open: func() (io.ReadCloser, error) {
			r, err := http.PostForm(address+path, ask(metric)) //nolint:noctx // a test's own server
			if err != nil {
				return nil, err
			}
			return r.Body, nil
		}})
	}
	format, err := imports.Parse("prometheus")
	must(t, err)
	l := &imports.Load{Assume: [2]int64{-1, -1}}
	defer func() { must(t, l.Close()) }()
	must(t, l.Read(t.Context(), format, inputs))
	var out []string
	must(t, l.Lines(func(line objectlog.Line) error {
		if u, ok := line.Object.(*objectlog.Usage); ok {
			out = append(out, fmt.Sprintf("%s %s %dm %d", line.At.Format(time.TimeOnly), u.Name, u.Spec.CPUMilli, u.Spec.MemoryBytes))
		}
		return nil
	}))
	slices.Sort(out)
	return out
}

// importsWhatWasFed holds what is imported from a Prometheus equal to what it was fed: as scraped, and at the steps of a range.
func importsWhatWasFed(t *testing.T, address string, f fed) {
	end := epoch.Add(2 * time.Hour)
	scraped := importedFrom(t, address, "/api/v1/query", func(metric string) url.Values {
		return url.Values{"query": {metric + "[2h]"}, "time": {end.Format(time.RFC3339)}}
	})
	if diff := cmp.Diff(f.usage, scraped); diff != "" || len(f.usage) < 800 {
		t.Errorf("%d values as scraped (-fed +imported):\n%s", len(f.usage), diff)
	}
	steps := importedFrom(t, address, "/api/v1/query_range", func(metric string) url.Values {
		return url.Values{"query": {metric + `{pod="web-0"}`}, "start": {epoch.Format(time.RFC3339)}, "end": {end.Format(time.RFC3339)}, "step": {"60"}}
	})
	if diff := cmp.Diff(f.minutes(), steps); diff != "" || len(steps) < 100 {
		t.Errorf("%d values at steps (-fed +imported):\n%s", len(steps), diff)
	}
}
