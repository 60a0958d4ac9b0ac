package scalehist

import "fmt"

// Optimality compares the new nodes with the best there could be for the same pods.
type Optimality struct {
	// Unit is what Cost and LowerBound are in: "EUR per hour"; without prices what the nodes can allocate, by weight: cores,
	// GiB, and pieces of other resources, times their weights.
	Unit string `json:"unit"`
	// Cost is the objective of the new nodes that pods asked for. Nodes that only raise a group to its min size are not in it.
	Cost float64 `json:"cost"`
	// LowerBound: no plan that takes the same pods costs less.
	LowerBound float64 `json:"lowerBound"`
	// Gap is (Cost-LowerBound)/LowerBound; 0 when both are 0.
	Gap float64 `json:"gap"`
	// Exact: LowerBound is the cost of a plan that exists. Optimal: it is this one.
	Exact   bool `json:"exact"`
	Optimal bool `json:"optimal"`
	// Method says what the bound rests on.
	Method string `json:"method"`
}

// String is one line: "new nodes cost 0.2 EUR per hour, 17.6 % above the least there is, 0.17".
func (o Optimality) String() string {
	switch {
	case o.Optimal:
		return fmt.Sprintf("new nodes cost %.6g %s, which is the least there is", o.Cost, o.Unit)
	case o.Exact:
		return fmt.Sprintf("new nodes cost %.6g %s, %.3g %% above the least there is, %.6g", o.Cost, o.Unit, 100*o.Gap, o.LowerBound)
	}
	return fmt.Sprintf("new nodes cost %.6g %s, at most %.3g %% above the least there is (lower bound %.6g)", o.Cost, o.Unit, 100*o.Gap, o.LowerBound)
}
