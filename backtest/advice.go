package backtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/yaml"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/recommender/vertical"
)

// Advice is what another tool recommends: fixed requests of containers of workloads.
type Advice map[AdviceFor]vertical.Amount

// AdviceFor is a container of a workload. Kind is empty where the tool does not say it.
type AdviceFor struct{ Kind, Namespace, Workload, Container string }

// ParseAdvice reads what `krr -f json` prints, VerticalPodAutoscaler objects (YAML or JSON, also as a list of kubectl), or a CSV with the
// columns namespace, workload, container, cpu and memory (others are ignored; an empty cell advises nothing). Which it is, shows in the
// file.
func ParseAdvice(data []byte) (Advice, error) {
	trimmed := bytes.TrimSpace(data)
	var advice Advice
	var err error
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("is empty: give krr's JSON, VerticalPodAutoscalers, or a CSV")
	case trimmed[0] == '{' && bytes.Contains(trimmed, []byte(`"scans"`)):
		advice, err = parseKRR(trimmed)
	case trimmed[0] == '{', bytes.HasPrefix(trimmed, []byte("---")), bytes.Contains(trimmed, []byte("apiVersion:")):
		advice, err = parseObjects(data)
	default:
		advice, err = parseCSV(data)
	}
	if err == nil && len(advice) == 0 {
		err = errors.New("there is no recommendation in it")
	}
	return advice, err
}

// add notes an amount once; one that advises nothing is left out.
func (a Advice) add(to AdviceFor, amount vertical.Amount) error {
	if _, twice := a[to]; twice {
		return fmt.Errorf("container %s of %s/%s is there twice", to.Container, to.Namespace, to.Workload)
	}
	if amount != vertical.None {
		a[to] = amount
	}
	return nil
}

// krr is the part of krr's result that is read: cores and bytes as numbers, "?" or null where it does not know
// (robusta_krr/core/models/result.py and allocations.py).
type krr struct {
	Scans []struct {
		Object struct {
			Kind, Namespace, Name, Container string
		} `json:"object"`
		Recommended struct {
			Requests map[string]struct {
				Value json.RawMessage `json:"value"`
			} `json:"requests"`
		} `json:"recommended"`
	} `json:"scans"`
}

func parseKRR(data []byte) (Advice, error) {
	var k krr
	if err := decode.JSON(data, &k); err != nil {
		return nil, fmt.Errorf("krr: %w", err)
	}
	out := Advice{}
	for i, s := range k.Scans {
		a := vertical.None
		for name, unit := range map[string]float64{"cpu": 1000, "memory": 1} {
			var v float64
			raw := s.Recommended.Requests[name].Value
			if len(raw) == 0 || string(raw) == "null" || string(raw) == `"?"` {
				continue
			}
			if err := json.Unmarshal(raw, &v); err != nil || !(v >= 0 && v*unit < 1e15) {
				return nil, fmt.Errorf("krr: scan %d: %s %s: want a number of cores or bytes", i+1, name, raw)
			}
			if name == "cpu" {
				a.CPUMilli = int64(v*unit + 0.5)
			} else {
				a.MemoryBytes = int64(v*unit + 0.5)
			}
		}
		if s.Object.Name == "" || s.Object.Container == "" {
			return nil, fmt.Errorf("krr: scan %d: object.name or object.container is missing", i+1)
		}
		if err := out.add(AdviceFor{s.Object.Kind, s.Object.Namespace, s.Object.Name, s.Object.Container}, a); err != nil {
			return nil, fmt.Errorf("krr: scan %d: %w", i+1, err)
		}
	}
	return out, nil
}

// parseObjects reads VerticalPodAutoscalers with their status, one a document or in lists.
func parseObjects(data []byte) (Advice, error) {
	out := Advice{}
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for n := 1; ; n++ {
		var raw json.RawMessage
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		var list struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if err := decode.JSON(raw, &list); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		items := list.Items
		if !strings.HasSuffix(list.Kind, "List") {
			items = []json.RawMessage{raw}
		}
		for _, item := range items {
			if err := out.object(item); err != nil {
				return nil, fmt.Errorf("document %d: %w", n, err)
			}
		}
	}
}

func (a Advice) object(raw json.RawMessage) error {
	var v vpav1.VerticalPodAutoscaler
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	if v.Kind != "VerticalPodAutoscaler" {
		return fmt.Errorf("kind %q: want VerticalPodAutoscaler", v.Kind)
	}
	if v.Spec.TargetRef == nil {
		return fmt.Errorf("VerticalPodAutoscaler %s/%s has no targetRef", v.Namespace, v.Name)
	}
	for _, r := range vertical.FromStatus(v.Status.Recommendation) {
		if err := a.add(AdviceFor{v.Spec.TargetRef.Kind, v.Namespace, v.Spec.TargetRef.Name, r.Container}, r.Target); err != nil {
			return err
		}
	}
	return nil
}

var adviceColumns = []string{"namespace", "workload", "container", "cpu", "memory"}

func parseCSV(data []byte) (Advice, error) {
	r := csv.NewReader(bytes.NewReader(data))
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("CSV: %w", err)
	}
	at := map[string]int{}
	for _, name := range adviceColumns {
		if at[name] = slices.IndexFunc(head, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) }); at[name] < 0 {
			return nil, fmt.Errorf("there is no column %q: want krr's JSON, VerticalPodAutoscalers, or a CSV with the columns %s", name, strings.Join(adviceColumns, ", "))
		}
	}
	out := Advice{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("CSV: %w", err)
		}
		line, _ := r.FieldPos(0)
		a := vertical.None
		for _, name := range []string{"cpu", "memory"} {
			text := strings.TrimSpace(row[at[name]])
			if text == "" {
				continue
			}
			q, err := resource.ParseQuantity(text)
			if err != nil || q.Sign() < 0 || q.AsApproximateFloat64() > 1e15 {
				return nil, fmt.Errorf("CSV: line %d: %s %q: want an amount such as 250m or 256Mi", line, name, text)
			}
			if name == "cpu" {
				a.CPUMilli = q.MilliValue()
			} else {
				a.MemoryBytes = q.Value()
			}
		}
		if err := out.add(AdviceFor{"", row[at["namespace"]], row[at["workload"]], row[at["container"]]}, a); err != nil {
			return nil, fmt.Errorf("CSV: line %d: %w", line, err)
		}
	}
}

// of is the advice for a container of a workload: with its kind, or without.
func (a Advice) of(kind, namespace, workload, container string) (vertical.Amount, bool) {
	for _, k := range []string{kind, ""} {
		if amount, ok := a[AdviceFor{k, namespace, workload, container}]; ok {
			return amount, true
		}
	}
	return vertical.None, false
}

// adviser recommends what was advised, from the start.
type adviser struct{ list []vertical.Recommendation }

var _ vertical.Recommender = (*adviser)(nil)

// maker makes the adviser of a workload of that kind.
func (a Advice) maker(kind string) vertical.Maker {
	return func(w vertical.Workload) (vertical.Recommender, error) {
		out := &adviser{}
		for _, c := range w.Containers {
			if amount, ok := a.of(kind, w.Namespace, w.Name, c); ok {
				out.list = append(out.list, vertical.Recommendation{Container: c, Lower: amount, Target: amount, Upper: amount})
			}
		}
		slices.SortFunc(out.list, func(a, b vertical.Recommendation) int { return cmp.Compare(a.Container, b.Container) })
		return out, nil
	}
}

func (*adviser) Observe(vertical.Sample) error { return nil }
func (a *adviser) Recommend(context.Context, time.Time) ([]vertical.Recommendation, error) {
	return a.list, nil
}
func (*adviser) Reset()                          {}
func (*adviser) Save(io.Writer, time.Time) error { return nil }
func (*adviser) Load(io.Reader) error            { return nil }

// sorted are the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
