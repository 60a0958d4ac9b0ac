package crosscheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

// kindPanic is the kind of error of a control plane that panics.
const kindPanic = "panic"

// outcome is what one control plane did in one step.
type outcome struct {
	// Error is its text, "" for none; Kind is what errors.Is and the like find in it.
	Error, Kind string
	Settled     kvcl.Settled
	applied     int
}

// run runs a program, which must find both control planes empty, up to the first step with differences; none is nil.
// An error is of the control planes, not of the program.
func (p *pair) run(ctx context.Context, prog Program, seen func(s Step, o outcome)) (*mismatch, error) {
	p.refused = false
	for i, s := range prog.Steps {
		var out [2]outcome
		when := p.now.Add(max(s.Settle, 0))
		for j, cp := range p.cp {
			var err error
			if out[j], err = do(ctx, cp, s, when); err != nil {
				return nil, fmt.Errorf("step %d on %s: %w", i+1, p.planes[j].Name, err)
			}
		}
		p.now = when
		p.refused = p.refused || s.Apply != nil && out[0].Error != ""
		if m := p.compare(out); m != nil {
			m.step = i
			return m, nil
		}
		if seen != nil {
			seen(s, out[0])
		}
	}
	return nil, nil
}

// do runs a step on one control plane, at virtual time now.
func do(ctx context.Context, cp kvcl.ControlPlane, s Step, now time.Time) (o outcome, err error) {
	defer func() {
		// A control plane that panics is a finding like any other.
		if r := recover(); r != nil {
			o.Error, o.Kind = fmt.Sprintf("panic: %v", r), kindPanic
		}
	}()
	switch {
	case s.Apply != nil:
		changes := resolve(s.Apply, cp.Objects(), now)
		o.applied = len(changes)
		err = cp.Apply(ctx, changes)
	case s.Taint != nil:
		err = cp.SetTaints(ctx, s.Taint.Node, s.Taint.Taints)
	case s.Evict != nil:
		err = cp.Evict(ctx, s.Evict.Namespace, s.Evict.Name)
	case s.Settle < 0:
		_, err = cp.Settle(ctx, now.Add(s.Settle))
	default:
		o.Settled, err = cp.Settle(ctx, now)
	}
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	if err != nil {
		o.Error, o.Kind = err.Error(), errorKind(err)
	}
	return o, nil
}

// errorKind is what callers can ask of an error.
func errorKind(err error) string {
	var kinds []string
	if errors.Is(err, kvcl.ErrEvictionRefused) {
		kinds = append(kinds, "eviction refused")
	}
	if r := apierrors.ReasonForError(err); r != "" {
		kinds = append(kinds, string(r))
	}
	return strings.Join(kinds, ", ")
}

// resolve makes the changes of a step for a cluster. It leaves out guarded ones that cannot work.
func resolve(changes []Change, cluster *scalehist.Objects, now time.Time) []scalehist.Change {
	there := map[string]scalehist.Object{}
	for _, o := range objectsOf(cluster) {
		there[objectKey(o)] = o
	}
	out := make([]scalehist.Change, 0, len(changes))
	for _, c := range changes {
		obj, key := c.Object, objectKey(c.Object)
		have := there[key]
		if c.Edit != nil {
			if have == nil {
				continue
			}
			obj = have.DeepCopyObject().(scalehist.Object)
			c.Edit.Do(obj)
		}
		if c.Guarded && (have == nil) != (c.Op == scalehist.OpAdd) {
			continue
		}
		switch c.Op {
		case scalehist.OpAdd:
			if have == nil && obj != nil {
				there[key] = obj
			}
		case scalehist.OpDelete:
			delete(there, key)
			if kindName(obj) == "Namespace" {
				for k, o := range there {
					if o.GetNamespace() == obj.GetName() {
						delete(there, k)
					}
				}
			}
		case scalehist.OpUpdate:
		}
		out = append(out, scalehist.Change{At: now.Add(-c.Ago), Op: c.Op, Object: obj})
	}
	return out
}

func objectKey(obj scalehist.Object) string {
	if obj == nil {
		return "nothing"
	}
	return kindName(obj) + " " + fullName(obj)
}

// Text is the program for people: one line a step and change, then the objects given in it.
func (p Program) Text() string {
	var b strings.Builder
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "step %d: %s\n", i+1, s.text())
		for _, c := range s.Apply {
			fmt.Fprintf(&b, "  %s\n", c.text())
			if body := c.body(); body != "" {
				b.WriteString(indent(body, "      "))
			}
		}
	}
	return b.String()
}

func (s Step) text() string {
	switch {
	case s.Apply != nil:
		return fmt.Sprintf("apply %d", len(s.Apply))
	case s.Taint != nil:
		var t []string
		for _, taint := range s.Taint.Taints {
			t = append(t, taint.ToString())
		}
		if s.Taint.Taints == nil {
			return fmt.Sprintf("set taints of Node %s to nil", s.Taint.Node)
		}
		return fmt.Sprintf("set taints of Node %s to [%s]", s.Taint.Node, strings.Join(t, " "))
	case s.Evict != nil:
		return "evict Pod " + s.Evict.String()
	case s.Settle < 0:
		return fmt.Sprintf("settle %s before now", -s.Settle)
	default:
		return fmt.Sprintf("settle after %s", s.Settle)
	}
}

func (c Change) text() string {
	what := "nothing"
	if c.Object != nil {
		what = kindName(c.Object) + " " + fullName(c.Object)
	}
	text := fmt.Sprintf("%s %s", c.Op, what)
	if c.Edit != nil {
		text += " as shown: " + c.Edit.Name
	}
	if c.Ago != 0 {
		text += fmt.Sprintf(" (%s ago)", c.Ago)
	}
	return text
}

// body is the object of a change as YAML, "" where its name says it all.
func (c Change) body() string {
	if c.Object == nil || c.Edit != nil || c.Op == scalehist.OpDelete || reflect.DeepEqual(c.Object, bare(c.Object)) {
		return ""
	}
	data, err := json.Marshal(c.Object)
	if err != nil {
		return fmt.Sprintf("%v\n", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return fmt.Sprintf("%v\n", err)
	}
	unclutter(tree)
	if data, err = yaml.Marshal(tree); err != nil {
		return fmt.Sprintf("%v\n", err)
	}
	return string(data)
}

// unclutter drops fields that are always printed and say nothing: nulls, and parts of a status that nobody gave.
func unclutter(tree map[string]any) {
	for k, v := range tree {
		m, isMap := v.(map[string]any)
		if isMap {
			unclutter(m)
		}
		list, _ := v.([]any)
		for _, e := range list {
			if m, ok := e.(map[string]any); ok {
				unclutter(m)
			}
		}
		switch k {
		case "nodeInfo", "daemonEndpoints", "kubeletEndpoint", "status", "spec", "resources", "updateStrategy", "strategy", "lastState", "state":
			if isMap && blank(m) {
				delete(tree, k)
			}
		}
		if v == nil {
			delete(tree, k)
		}
	}
}

// blank says that a map has nothing but zero values.
func blank(m map[string]any) bool {
	for _, v := range m {
		if v != "" && v != 0.0 && v != false {
			return false
		}
	}
	return true
}

func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + line)
	}
	return b.String()
}
