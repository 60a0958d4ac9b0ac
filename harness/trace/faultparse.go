package trace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// FaultHelp says how faults are written, for a command's help.
const FaultHelp = `A fault is KIND[:TARGET][@FROM..TO][,skip=N][,count=N][,delay=D][,class=CLASS][,code=CODE][,value=V][,message=TEXT]. TARGET is a node group, node/NAME, or
of metrics-... the name of a metric; FROM and TO are offsets from the start of the window (+5m) or instants (2024-05-28T10:00:00Z), and either may be left out.
skip lets so many nodes (or calls) through first. The kinds:
  stock-out       nodes asked for fail after delay (3s) with class (OutOfResources, or Other) and code (RESOURCE_POOL_EXHAUSTED);
                  with count only that many of them fail
  quota           the same with code QUOTA_EXCEEDED, because a quota is used up
  refuse          the group refuses to grow at all; with count that many times
  provider-down   the provider does not answer: the autoscaler's loops end at their refresh, nothing grows, shrinks or is deleted;
                  takes no target; with count so many calls
  slow            nodes join delay later than usual
  never-register  instances come up, their nodes never join
  not-ready       count nodes (1) of the group, the oldest first, lose their kubelet; pods leave after five minutes, or as they tolerate
  spot-reclaim    at the instant FROM count nodes (1) of the group are taken away with their pods; the group asks for others
  metrics-down    autoscalers of workloads ask for the metric (any, without a target), and nobody answers
  metrics-slow    answers take delay: hpa waits 1m, elasti 5s, keda 3s
  metrics-stale   answers are those of when the fault began
  metrics-empty   answers have no series
  metrics-nan     answers are not a number
  metrics-wrong   answers are value (0)
Without a target, the first six hit every group. A fault file (YAML) has a list "faults" with the same words as fields:
  faults:
  - {kind: stock-out, nodeGroup: workers, from: +5m, to: +20m}
  - {kind: spot-reclaim, node: workers-3, from: 2024-05-28T10:00:00Z}`

// ParseFault reads a fault: see FaultHelp.
func ParseFault(text string) (Fault, error) {
	f, err := parseFault(text)
	if err != nil {
		return f, fmt.Errorf("fault %q: %w", text, err)
	}
	return f, nil
}

func parseFault(text string) (Fault, error) {
	var f Fault
	head, message, hasMessage := strings.Cut(text, ",message=") // the last: it may hold commas
	if f.Message = message; hasMessage && message == "" {
		return f, errors.New("message is empty")
	}
	parts := strings.Split(head, ",")
	what, when, hasWhen := strings.Cut(parts[0], "@")
	kind, target, hasTarget := strings.Cut(what, ":")
	f.Kind = FaultKind(kind)
	if _, ok := f.Kind.ofMetrics(); ok {
		f.Metric = target
	} else if node, ok := strings.CutPrefix(target, "node/"); ok {
		f.Node = node
	} else {
		f.NodeGroup = target
	}
	if hasTarget && f.Node == "" && f.NodeGroup == "" && f.Metric == "" {
		return f, errors.New("the target after ':' is empty")
	}
	if hasWhen {
		from, to, ranged := strings.Cut(when, "..")
		var err error
		if f.From, err = ParseInstant(from); err != nil {
			return f, err
		}
		if f.To, err = ParseInstant(to); err != nil {
			return f, err
		}
		if !ranged && f.Kind != FaultSpotReclaim && f.Kind.known() {
			return f, fmt.Errorf("%s lasts: write @FROM..TO, either may be left out", f.Kind)
		}
	}
	for _, p := range parts[1:] {
		if err := f.set(p); err != nil {
			return f, err
		}
	}
	return f, f.check()
}

func (k FaultKind) known() bool {
	for _, o := range FaultKinds {
		if o == k {
			return true
		}
	}
	return false
}

// set reads one "key=value".
func (f *Fault) set(part string) (err error) {
	key, value, ok := strings.Cut(part, "=")
	if !ok {
		return fmt.Errorf("%q is not count=N, skip=N, delay=D, class=CLASS, code=CODE, value=V or message=TEXT", part)
	}
	switch key {
	case "count":
		if f.Count, err = strconv.Atoi(value); err != nil || f.Count < 1 {
			return fmt.Errorf("count %q is not a positive number", value)
		}
	case "skip":
		if f.Skip, err = strconv.Atoi(value); err != nil || f.Skip < 1 {
			return fmt.Errorf("skip %q is not a positive number", value)
		}
	case "class":
		if f.Class = cloudprovider.ErrorClass(value); value == "" {
			return errors.New("class is empty")
		}
	case "code":
		if f.Code = value; value == "" {
			return errors.New("code is empty")
		}
	case "delay":
		if f.Delay, err = time.ParseDuration(value); err != nil || f.Delay <= 0 {
			return fmt.Errorf("delay %q is not a positive duration such as 30s", value)
		}
	case "value":
		if f.Value, err = strconv.ParseFloat(value, 64); err != nil {
			return fmt.Errorf("value %q is not a number", value)
		}
	default:
		return fmt.Errorf("unknown key %q: there are count, skip, delay, class, code, value and message, message last", key)
	}
	return nil
}

// ParseInstant reads an offset ("+5m", "90s") or an instant (RFC 3339); empty is none.
func ParseInstant(text string) (Instant, error) {
	if text == "" {
		return Instant{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 {
			return Instant{}, fmt.Errorf("offset %s is before the start", text)
		}
		return Offset(d), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return Instant{}, fmt.Errorf("%q is neither an instant such as 2024-05-28T10:00:00Z nor an offset such as +90s", text)
	}
	return At(at), nil
}

// ParseFaults reads a fault file: YAML or JSON with a list "faults". Unknown keys are errors.
func ParseFaults(b []byte) ([]Fault, error) {
	var file struct {
		Faults []struct {
			Kind      FaultKind `json:"kind"`
			NodeGroup string    `json:"nodeGroup"`
			Node      string    `json:"node"`
			From      string    `json:"from"`
			To        string    `json:"to"`
			Count     int       `json:"count"`
			Skip      int       `json:"skip"`
			Class     string    `json:"class"`
			Code      string    `json:"code"`
			Delay     string    `json:"delay"`
			Message   string    `json:"message"`
			Metric    string    `json:"metric"`
			Value     float64   `json:"value"`
		} `json:"faults"`
	}
	if err := decode.YAML(b, &file); err != nil {
		return nil, err
	}
	if len(file.Faults) == 0 {
		return nil, errors.New(`the list "faults" is missing or empty`)
	}
	out := make([]Fault, 0, len(file.Faults))
	for i, e := range file.Faults {
		f := Fault{Kind: e.Kind, NodeGroup: e.NodeGroup, Node: e.Node, Count: e.Count, Skip: e.Skip, Class: cloudprovider.ErrorClass(e.Class), Code: e.Code, Message: e.Message,
			Metric: e.Metric, Value: e.Value}
		err := func() (err error) {
			if f.From, err = ParseInstant(e.From); err != nil {
				return fmt.Errorf("from: %w", err)
			}
			if f.To, err = ParseInstant(e.To); err != nil {
				return fmt.Errorf("to: %w", err)
			}
			if e.Delay != "" {
				if f.Delay, err = time.ParseDuration(e.Delay); err != nil {
					return fmt.Errorf("delay %q is not a duration such as 30s", e.Delay)
				}
			}
			return f.check()
		}()
		if err != nil {
			return nil, fmt.Errorf("faults[%d]: %w", i, err)
		}
		out = append(out, f)
	}
	return out, nil
}
