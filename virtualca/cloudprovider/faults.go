package cloudprovider

import (
	"fmt"
	"time"
)

// FaultKind says what goes wrong.
type FaultKind string

// The kinds of faults.
const (
	// FaultStockOut: instances asked for answer with an OutOfResources creation error after Fault.Delay.
	FaultStockOut FaultKind = "stock-out"
	// FaultRefuse: IncreaseSize itself returns an error and nothing is made.
	FaultRefuse FaultKind = "refuse"
	// FaultSlow: the node joins Fault.Delay later than usual.
	FaultSlow FaultKind = "slow"
	// FaultNeverRegister: the instance exists, its node never joins.
	FaultNeverRegister FaultKind = "never-register"
)

// Fault is something that goes wrong with requests made in [From, To). A zero From or To is open.
type Fault struct {
	// Group is the node group it hits; empty hits all.
	Group    string
	From, To time.Time
	Kind     FaultKind
	// Delay: for slow the extra time, for stock-out the time to the error (zero: DefaultStockOutDelay).
	Delay time.Duration
	// Count limits how many instances (for refuse: calls) it hits; zero is no limit.
	Count int
	// Message is what the provider says; empty takes a stated text.
	Message string
}

func (f Fault) check() error {
	switch f.Kind {
	case FaultStockOut, FaultRefuse, FaultSlow, FaultNeverRegister:
	default:
		return fmt.Errorf("kind %q is unknown: want stock-out, refuse, slow or never-register", f.Kind)
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return fmt.Errorf("from %s is not before to %s", f.From.Format(time.RFC3339), f.To.Format(time.RFC3339))
	}
	if f.Delay < 0 || f.Count < 0 {
		return fmt.Errorf("delay %s and count %d must not be negative", f.Delay, f.Count)
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

// take returns the first fault that hits the group now and has count left, and uses it up by one. refuse selects
// faults of the call or of single instances.
func (p *Provider) take(group string, now time.Time, refuse bool) (Fault, bool) {
	for i, f := range p.opts.Faults {
		if (f.Kind == FaultRefuse) != refuse || !f.hits(group, now) || (f.Count > 0 && p.faultUsed[i] >= f.Count) {
			continue
		}
		p.faultUsed[i]++
		return f, true
	}
	return Fault{}, false
}
