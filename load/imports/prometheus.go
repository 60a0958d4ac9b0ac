package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

// Names of kubelet and cAdvisor, and of kube-state-metrics.
const (
	cpuSeconds = "container_cpu_usage_seconds_total"
	workingSet = "container_memory_working_set_bytes"
	requested  = "kube_pod_container_resource_requests"
	limited    = "kube_pod_container_resource_limits"
	podOwner   = "kube_pod_owner"
)

// prometheus reads answers of /api/v1/query_range, or of /api/v1/query to a selector with a range, which has the samples as they were scraped.
var prometheus = Kind{Name: "prometheus", About: "JSON of /api/v1/query_range: metrics of kubelet and cAdvisor, and of kube-state-metrics where they are there", Options: []spec.Option{
	{Name: "metric", Default: "", About: "what series of other names, or none, are: cpu (in cores) or memory (in bytes); without it they are left out"},
}, Make: func(v *spec.Values) parser {
	other := v.Text("metric")
	if other != "" && other != "cpu" && other != "memory" {
		v.Wrong("metric", "cpu or memory")
	}
	return func(f *file) error {
		a := answer{tree: f.tree(), other: other}
		for {
			if !a.More() {
				if _, err := a.Token(); errors.Is(err, io.EOF) {
					return nil
				}
			}
			if err := a.object(); err != nil {
				return err
			}
		}
	}
}}

// answer is read series by series.
type answer struct {
	*tree
	other  string
	series int
}

// object reads {"status", "data": {"resultType", "result": [...]}}, or what is under "data".
func (a *answer) object() error {
	return a.fields("an answer of Prometheus", func(key string) error {
		switch key {
		case "data":
			return a.object()
		case "result":
			return a.result()
		case "status", "error", "resultType":
			var v string
			if ok, err := a.value(&v, "a text under "+key); err != nil || !ok {
				return err
			}
			switch {
			case key == "error":
				return fmt.Errorf("%s:%d: Prometheus answered with an error: %s", a.file.name, a.line(), v)
			case key == "resultType" && v != "matrix":
				return fmt.Errorf("%s:%d: the answer is a %s: want a matrix, of /api/v1/query_range, or of a selector with a range such as [1h]", a.file.name, a.line(), v)
			}
			return nil
		}
		var rest json.RawMessage
		_, err := a.value(&rest, "JSON")
		return err
	})
}

func (a *answer) result() error {
	if err := a.open('[', "series"); err != nil {
		return err
	}
	for a.More() {
		a.series++
		var s struct {
			Metric map[string]string `json:"metric"`
			Values []json.RawMessage `json:"values"`
		}
		ok, err := a.value(&s, `a series {"metric": {...}, "values": [[SECONDS, "VALUE"], ...]}`)
		if err == nil && ok {
			err = a.take(s.Metric, s.Values)
		}
		if err != nil {
			return err
		}
	}
	return a.close()
}

// label finds one under the name it has now, or had before Kubernetes 1.16; where the scrape kept its own, the object's is exported_.
func label(labels map[string]string, name string) string {
	if v := labels["exported_"+name]; v != "" && labels["exported_pod"] != "" {
		return v
	}
	if v := labels[name]; v != "" {
		return v
	}
	return labels[name+"_name"]
}

// take notes the values of a series.
func (a *answer) take(labels map[string]string, values []json.RawMessage) error {
	l, name := a.file.to, labels["__name__"]
	r := ref{namespace: label(labels, "namespace"), pod: label(labels, "pod"), name: label(labels, "container")}
	if name == podOwner && labels["owner_name"] != "" && labels["owner_name"] != "<none>" {
		owner := labels["owner_name"]
		if m := setName.FindStringSubmatch(owner); m != nil && labels["owner_kind"] == "ReplicaSet" {
			owner = m[1]
		}
		l.owners[[2]string{r.namespace, r.pod}] = owner
		return nil
	}
	known := name == cpuSeconds || name == workingSet || name == requested || name == limited
	switch {
	case name == podOwner, r.name == "POD": // the sandbox
		return nil
	case !known && a.other == "":
		l.note("of series that are neither usage nor requests are left out")
		return nil
	case r.name == "": // the pod's own group, or the node's: what its containers add up to
		l.note("of series that are of no container are left out")
		return nil
	case r.pod == "" || r.namespace == "" || r != (ref{namespace: named(r.namespace), pod: podName(r.pod), name: named(r.name)}):
		return a.file.wrong(a.line(), "series %d: namespace %q, pod %q, container %q: want the names of one", a.series, r.namespace, r.pod, r.name)
	case name == cpuSeconds && labels["cpu"] != "" && labels["cpu"] != "total":
		l.note("of series of a single CPU are left out")
		return nil
	}
	s := reading{answer: a, id: l.container(r), name: name}
	if labels["id"] == "" && labels["metrics_path"] != "/metrics/cadvisor" {
		s.rank = 1 // kubelet's own endpoint has the same values as cAdvisor's
	}
	s.resource = labels["resource"]
	for i, raw := range values {
		at, v, ok := point(raw)
		wrong := ""
		if !ok {
			wrong = fmt.Sprintf("%.60s: want [SECONDS, \"VALUE\"]", raw)
		} else if wrong, ok = "", math.IsNaN(v) || math.IsInf(v, 0); ok {
			l.note("that are no numbers are left out")
			s.begun = false
		} else {
			var err error
			if wrong, err = s.value(at, v); err != nil {
				return err
			}
		}
		if wrong != "" {
			if err := a.file.wrong(a.line(), "series %d (%s), value %d: %s", a.series, name, i+1, wrong); err != nil {
				return err
			}
		}
		if err := l.read(); err != nil {
			return err
		}
	}
	return nil
}

// podName is a pod's, which may have dots and be longer than other names.
func podName(text string) string {
	for part := range strings.SplitSeq(text, ".") {
		if len(part) == 0 || len(text) > 253 || part != strings.ToLower(part) || strings.Trim(part, "-") != part {
			return shortened(text)
		}
		for _, c := range part {
			if c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
				return shortened(text)
			}
		}
	}
	return text
}

// point reads [1767225600.123,"0.5"].
func point(raw []byte) (at time.Time, v float64, ok bool) {
	inner, opened := bytes.CutPrefix(bytes.TrimSpace(raw), []byte("["))
	inner, closed := bytes.CutSuffix(inner, []byte("]"))
	first, second, two := strings.Cut(string(inner), ",")
	seconds, isNumber := decimal(first)
	v, err := strconv.ParseFloat(strings.Trim(strings.TrimSpace(second), `"`), 64)
	if !opened || !closed || !two || !isNumber || err != nil || math.Abs(seconds) > 1e11 {
		return at, 0, false
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), v, true
}

// reading is a series as it is read.
type reading struct {
	*answer
	id       uint32
	name     string
	resource string
	rank     uint8
	begun    bool // the counter has a value before
	at       time.Time
	last     float64
}

// value notes one. Its text says what is wrong with it, "" nothing.
func (s *reading) value(at time.Time, v float64) (string, error) {
	l := s.file.to
	if v < 0 {
		return fmt.Sprintf("%g: want 0 or more", v), nil
	}
	what, divisor := cpu, 1.0
	switch {
	case s.name == requested || s.name == limited:
		s.asks(v)
		return "", nil
	case s.name == workingSet, s.name != cpuSeconds && s.other == "memory":
		what = memory
	case s.name == cpuSeconds:
		since, before, begun := at.Sub(s.at), s.last, s.begun
		if begun && since <= 0 {
			return "its time is not after the one before: want values in order of time", nil
		}
		s.at, s.last, s.begun = at, v, true
		if begun && since > lasts {
			l.note("of counters more than five minutes after the one before have no rate")
		}
		if !begun || since > lasts {
			return "", nil
		}
		if v >= before { // else the container started again, and counts from 0
			v -= before
		}
		divisor = since.Seconds()
	}
	if what == memory {
		if v > mostBytes {
			return fmt.Sprintf("%g bytes: want at most %d", v, int64(mostBytes)), nil
		}
		return l.value(at, s.id, memory, s.rank, uint64(math.Ceil(v)))
	}
	if v /= divisor; v > mostCores {
		return fmt.Sprintf("%g cores: want at most %d; is it a counter of seconds, or a rate in cores?", v, mostCores), nil
	}
	return l.value(at, s.id, cpu, s.rank, uint64(math.Ceil(v*1000-1e-6)))
}

// asks notes a request or a limit: the highest that there was.
func (s *reading) asks(v float64) {
	c := s.file.to.containers[s.id]
	of := &c.request
	if s.name == limited {
		of = &c.limit
	}
	switch s.resource {
	case "cpu":
		of[cpu] = max(of[cpu], int64(math.Ceil(min(v, mostCores)*1000-1e-6)))
	case "memory":
		of[memory] = max(of[memory], int64(min(v, mostBytes)))
	}
}
