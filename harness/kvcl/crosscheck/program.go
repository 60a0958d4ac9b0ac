package crosscheck

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

// Epoch is when control planes start. Times given in objects lie in the days before it.
var Epoch = time.Date(2025, 3, 2, 12, 0, 0, 0, time.UTC)

// Program is a sequence of steps that begins with an empty cluster.
type Program struct {
	Seed  uint64
	Steps []Step
	// Reached names what the generator put in, and how often.
	Reached map[string]int
	// broken is a mistake of the generator itself.
	broken error
}

// Step is one call of a control plane: the one that is set. With none it is Settle.
type Step struct {
	Apply []Change
	Taint *Taint
	Evict *types.NamespacedName
	// Settle is how far the clock moves before the scheduler runs; a negative one is refused.
	Settle time.Duration
}

// Taint replaces the taints of a node.
type Taint struct {
	Node   string
	Taints []corev1.Taint
}

// Change is one change of a step.
type Change struct {
	Op scalehist.Op
	// Object is given whole. With an Edit it is only the kind, namespace and name of the object that is edited.
	Object scalehist.Object
	// Ago is how long before the clock the change is said to have happened.
	Ago time.Duration
	// Guarded changes are left out where they cannot work: an addition of what is there, an update or deletion of what is
	// not.
	Guarded bool
	// Edit makes the object from the one the control plane shows. It is left out when there is none.
	Edit *Edit
}

// Edit is a named way to change an object in place.
type Edit struct {
	Name string
	Do   func(scalehist.Object)
}

// Size is the number of steps and of changes in them.
func (p Program) Size() (steps, changes int) {
	for _, s := range p.Steps {
		changes += len(s.Apply)
	}
	return len(p.Steps), changes
}

// FromSeed is the program of a seed.
func FromSeed(seed uint64) Program {
	p := generator.Example(int(seed))
	if p.broken != nil {
		panic(fmt.Sprintf("draw the program of seed %d: %v", seed, p.broken))
	}
	p.Seed = seed
	return p
}

// Generator draws programs, for property tests of one's own.
func Generator() *rapid.Generator[Program] { return generator }

var generator = rapid.Custom(generate)
