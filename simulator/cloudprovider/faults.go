package cloudprovider

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// FaultKind says what goes wrong.
type FaultKind string

// The kinds of faults.
const (
	// FaultStockOut: instances asked for answer with a creation error after Fault.Delay: of Fault.Class, with Fault.Code.
	FaultStockOut FaultKind = "stock-out"
	// FaultRefuse: IncreaseSize itself returns an error and nothing is made.
	FaultRefuse FaultKind = "refuse"
	// FaultSlow: the node joins Fault.Delay later than usual.
	FaultSlow FaultKind = "slow"
	// FaultNeverRegister: the instance exists, its node never joins.
	FaultNeverRegister FaultKind = "never-register"
	// FaultDown: the provider's API does not answer: Refresh, IncreaseSize, DecreaseTargetSize and DeleteNodes return
	// errors and nothing is made or deleted. What was asked for before goes on.
	FaultDown FaultKind = "down"
)

// The codes of creation errors, as GCE words them; other providers have their own.
const (
	CodeStockOut = "RESOURCE_POOL_EXHAUSTED"
	CodeQuota    = "QUOTA_EXCEEDED"
)

var faultKinds = []FaultKind{FaultStockOut, FaultRefuse, FaultSlow, FaultNeverRegister, FaultDown}

// Fault is something that goes wrong with requests made in [From, To). A zero From or To is open.
type Fault struct {
	// Group is the node group it hits; empty hits all.
	Group    string
	From, To time.Time
	Kind     FaultKind
	// Delay: for slow the extra time, for stock-out the time to the error (zero: DefaultStockOutDelay).
	Delay time.Duration
	// Skip lets so many instances (for refuse and down: calls) through first. Count limits how many it hits after them;
	// zero is no limit.
	Skip, Count int
	// Class and Code are what a stock-out answers with; empty are ErrorOutOfResources and CodeStockOut.
	Class ErrorClass
	Code  string
	// Message is what the provider says; empty takes a stated text.
	Message string
}

func (f Fault) check() error {
	if !slices.Contains(faultKinds, f.Kind) {
		return fmt.Errorf("kind %q is unknown: want stock-out, refuse, slow, never-register or down", f.Kind)
	}
	if (f.Class != "" || f.Code != "") && f.Kind != FaultStockOut {
		return fmt.Errorf("%s takes no class and no code: no instance answers with an error", f.Kind)
	}
	if f.Class != "" && f.Class != ErrorOutOfResources && f.Class != ErrorOther {
		return fmt.Errorf("class %q is unknown: want %s or %s", f.Class, ErrorOutOfResources, ErrorOther)
	}
	if strings.ContainsAny(f.Code, " ;") {
		return fmt.Errorf("code %q must be one word: upstream writes it as class.code; message", f.Code)
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return fmt.Errorf("from %s is not before to %s", f.From.Format(time.RFC3339), f.To.Format(time.RFC3339))
	}
	if f.Delay < 0 || f.Count < 0 || f.Skip < 0 {
		return fmt.Errorf("delay %s, count %d and skip %d must not be negative", f.Delay, f.Count, f.Skip)
	}
	if f.Kind == FaultSlow && f.Delay == 0 {
		return fmt.Errorf("slow needs a delay")
	}
	return nil
}

func (f Fault) hits(group string, now time.Time) bool {
	return (f.Group == "" || f.Group == group) &&
		(f.From.IsZero() || !now.Before(f.From)) && (f.To.IsZero() || now.Before(f.To))
}

// take returns the first fault of the kinds that hits the group now, has let enough through and has count left, and uses
// it up by one. A call that concerns no single group has none.
func (p *Provider) take(group string, now time.Time, kinds ...FaultKind) (Fault, bool) {
	for i, f := range p.opts.Faults {
		if !slices.Contains(kinds, f.Kind) || !f.hits(group, now) || (f.Count > 0 && p.faultUsed[i] >= f.Skip+f.Count) {
			continue
		}
		p.faultUsed[i]++
		if p.faultUsed[i] > f.Skip {
			return f, true
		}
	}
	return Fault{}, false
}

// Refresh is upstream's call at the beginning of every loop, by which a provider brings its view up to date. Here it
// only says whether the provider answers.
func (p *Provider) Refresh(now time.Time) error { return p.answers("", now) }

// answers is an error while the provider is down.
func (p *Provider) answers(group string, now time.Time) error {
	if f, down := p.take(group, now, FaultDown); down {
		return refuse(ErrDown, "%s", cmp.Or(f.Message, "the cloud provider does not answer"))
	}
	return nil
}

// failure is the creation error of a stock-out.
func (f Fault) failure(group string) *InstanceError {
	return &InstanceError{
		Class: cmp.Or(f.Class, ErrorOutOfResources), Code: cmp.Or(f.Code, CodeStockOut),
		Message: cmp.Or(f.Message, fmt.Sprintf("node group %s is out of stock", group)),
	}
}
