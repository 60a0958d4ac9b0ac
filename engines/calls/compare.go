package calls

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Difference is what two recordings have otherwise. All in it is empty where they are alike; when something happened is not compared.
type Difference struct {
	// Changes are all changes of both, in order, if any differs: those in common, those of the first alone, those of the second alone.
	Changes []ChangeRow `json:"changes,omitempty"`
	// Answers are questions asked in both, of which one has answers that the other has not, or in another order.
	Answers []AnswerRow `json:"answers,omitempty"`
	// Asked are methods that only one of the two asked for.
	Asked []AskedRow `json:"asked,omitempty"`
}

// ChangeRow is a change of the first recording, of the second, or of both: A or B is nil where it is not in it.
type ChangeRow struct {
	A *Call `json:"a,omitempty"`
	B *Call `json:"b,omitempty"`
}

// AnswerRow is a question and what it was answered, one answer after the other.
type AnswerRow struct {
	A []Call `json:"a"`
	B []Call `json:"b"`
}

// AskedRow is how many different questions of a method each recording has; one of the two is zero.
type AskedRow struct {
	Method string `json:"method"`
	A      int    `json:"a"`
	B      int    `json:"b"`
}

// Same says that there is no difference.
func (d Difference) Same() bool { return len(d.Changes)+len(d.Answers)+len(d.Asked) == 0 }

// Compare sets two recordings side by side: what was asked to change, and what the same questions were answered.
func Compare(a, b []Call) Difference {
	var d Difference
	rows := align(selected(a, Call.Changes), selected(b, Call.Changes))
	if slices.ContainsFunc(rows, func(r ChangeRow) bool { return r.A == nil || r.B == nil }) {
		d.Changes = rows
	}
	order, first := questions(a)
	orderB, second := questions(b)
	asked := map[string]AskedRow{}
	for _, key := range order {
		method := first[key][0].Method
		row := asked[method]
		asked[method] = AskedRow{Method: method, A: row.A + 1}
		if y := second[key]; len(y) > 0 && !slices.EqualFunc(first[key], y, answeredAlike) {
			d.Answers = append(d.Answers, AnswerRow{A: first[key], B: y})
		}
	}
	for _, key := range orderB {
		method := second[key][0].Method
		row := asked[method]
		asked[method] = AskedRow{Method: method, A: row.A, B: row.B + 1}
	}
	for _, row := range asked {
		if row.A == 0 || row.B == 0 {
			d.Asked = append(d.Asked, row)
		}
	}
	slices.SortFunc(d.Asked, func(x, y AskedRow) int { return strings.Compare(x.Method, y.Method) })
	return d
}

func question(c Call) string { return c.Method + " " + string(c.Request) }

// questions are those that ask for no change, in the order in which they were asked first, with their answers.
func questions(calls []Call) (order []string, answers map[string][]Call) {
	answers = map[string][]Call{}
	for _, c := range selected(calls, func(c Call) bool { return !c.Changes() }) {
		key := question(c)
		if answers[key] == nil {
			order = append(order, key)
		}
		answers[key] = append(answers[key], c)
	}
	return order, answers
}

func selected(calls []Call, is func(Call) bool) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return !is(c) })
}

// answeredAlike leaves the words of errors out: the code is the contract.
func answeredAlike(a, b Call) bool { return a.Code == b.Code && bytes.Equal(a.Response, b.Response) }

// align pairs what two lists of changes have in common.
func align(a, b []Call) []ChangeRow {
	key := func(c Call) string { return question(c) + " " + c.Code + " " + string(c.Response) }
	keys := func(calls []Call) []string {
		out := make([]string, len(calls))
		for i, c := range calls {
			out[i] = key(c)
		}
		return out
	}
	var out []ChangeRow
	for _, op := range difflib.NewMatcherWithJunk(keys(a), keys(b), false, nil).GetOpCodes() {
		if op.Tag == 'e' {
			for i := range op.I2 - op.I1 {
				out = append(out, ChangeRow{&a[op.I1+i], &b[op.J1+i]})
			}
			continue
		}
		for i := range a[op.I1:op.I2] {
			out = append(out, ChangeRow{A: &a[op.I1+i]})
		}
		for j := range b[op.J1:op.J2] {
			out = append(out, ChangeRow{B: &b[op.J1+j]})
		}
	}
	return out
}
