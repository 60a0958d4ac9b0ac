package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

// Plane is a kind of control plane. Start returns a new, empty one at virtual time now.
type Plane struct {
	Name  string
	Start func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error)
}

// pair is two running control planes that have seen the same so far. It is not safe for concurrent use.
type pair struct {
	planes [2]Plane
	cp     [2]kvcl.ControlPlane
	now    time.Time
	// equal are the objects that were compared last, and found equal: control planes share what did not change.
	equal map[[2]scalehist.Object]bool
	// anyUID takes no notice of the counters in virtual UIDs: the planes have seen different programs.
	anyUID bool
	// refused says that an Apply of the program was refused.
	refused bool
	// ignore are sites that do not count.
	ignore []string
}

func startPair(ctx context.Context, planes [2]Plane, ignore []string) (*pair, error) {
	p := &pair{planes: planes, now: Epoch, ignore: ignore}
	for i, plane := range planes {
		cp, err := plane.Start(ctx, p.now)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", plane.Name, err), p.close())
		}
		p.cp[i] = cp
	}
	return p, nil
}

func (p *pair) close() error {
	var errs []error
	for i, cp := range p.cp {
		if cp != nil {
			if err := cp.Close(); err != nil {
				errs = append(errs, fmt.Errorf("close %s: %w", p.planes[i].Name, err))
			}
		}
	}
	p.cp = [2]kvcl.ControlPlane{}
	return errors.Join(errs...)
}

// empty deletes everything on both control planes, what depends on others first. ok says that both are empty now; one that
// cannot be emptied as the other can is a difference.
func (p *pair) empty(ctx context.Context) (ok bool, m *mismatch, err error) {
	p.equal = nil
	p.now = p.now.Add(time.Second)
	var out [2]outcome
	for i, cp := range p.cp {
		err := clean(ctx, cp, p.now)
		if ctx.Err() != nil {
			return false, nil, ctx.Err()
		}
		if err != nil {
			out[i].Error = err.Error()
		}
	}
	m = &mismatch{}
	p.compareErrors(m, out)
	if m.site == "" {
		return out[0].Error == "", nil, nil
	}
	m.site = "empty the cluster: " + m.site
	m.sites[0] = m.site
	return false, m, nil
}

// restart begins again with new control planes.
func (p *pair) restart(ctx context.Context) error {
	if err := p.close(); err != nil {
		return err
	}
	fresh, err := startPair(ctx, p.planes, p.ignore)
	if err != nil {
		return err
	}
	fresh.anyUID = p.anyUID
	*p = *fresh
	return nil
}

func clean(ctx context.Context, cp kvcl.ControlPlane, now time.Time) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	o := cp.Objects()
	var objects []scalehist.Object
	for _, pod := range o.Pods {
		objects = append(objects, pod)
	}
	for _, n := range o.Nodes {
		objects = append(objects, n)
	}
	for _, c := range o.RuntimeClasses {
		objects = append(objects, c)
	}
	w := o.Workloads()
	slices.Reverse(w)
	objects = append(objects, w...)
	changes := make([]scalehist.Change, len(objects))
	for i, obj := range objects {
		changes[i] = scalehist.Change{At: now, Op: scalehist.OpDelete, Object: obj}
	}
	if err := cp.Apply(ctx, changes); err != nil {
		return err
	}
	if _, err := cp.Settle(ctx, now); err != nil {
		return err
	}
	if left := objectsOf(cp.Objects()); len(left) > 0 {
		return fmt.Errorf("%d objects are left after all were deleted, first %s %s", len(left), kindName(left[0]), fullName(left[0]))
	}
	return nil
}

// objectsOf lists every object of every kind.
func objectsOf(o *scalehist.Objects) []scalehist.Object {
	var out []scalehist.Object
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		for j := range v.Field(i).Len() {
			out = append(out, v.Field(i).Index(j).Interface().(scalehist.Object))
		}
	}
	return out
}

func fullName(obj scalehist.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}
