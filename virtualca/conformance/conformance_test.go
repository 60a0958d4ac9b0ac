package conformance

import (
	"errors"
	"fmt"
	"testing"
)

func TestDebugAgreement(t *testing.T) {
	cases, err := Load("../../fixtures/conformance/ca-decisions.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	results, err := RunAll(t.Context(), cases)
	if err != nil {
		t.Fatal(err)
	}
	agree, all := map[string]int{}, map[string]int{}
	for i, r := range results {
		if errors.Is(r.Err, ErrNeedsScaleDown) {
			continue
		}
		all[r.Category]++
		if r.Err != nil {
			t.Log(r.Err)
			continue
		}
		if r.Agrees {
			agree[r.Category]++
			continue
		}
		s := ""
		for _, d := range r.Decisions {
			s += fmt.Sprintf("\n    %s opts:", d.Summary())
			for _, o := range d.Options {
				s += fmt.Sprintf(" %s n%d p%d %v;", o.NodeGroup, o.NodeCount, o.Pods, o.Scores)
			}
		}
		t.Logf("%s: got %v want %v%s", r.Name, r.Got.Deltas, cases[i].Outcomes, s)
	}
	for c := range all {
		t.Logf("%s %d/%d", c, agree[c], all[c])
	}
}
