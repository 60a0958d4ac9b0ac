package metrics

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
)

// Value is what one report shows of a metric: a number, or the reason why there is none.
type Value struct {
	Name string `json:"name"`
	// Unit is the metric's; that of costs is the price table's currency.
	Unit    string   `json:"unit"`
	Value   *float64 `json:"value,omitempty"`
	Missing string   `json:"missing,omitempty"`
}

// Set has a Value for every metric, in the order of Defined of its report.
type Set []Value

// Of measures a report.
func Of(r *scalehist.ReplayReport) Set {
	m := measure(r)
	out := make(Set, 0, len(catalogue))
	for _, metric := range Defined(r) {
		v := Value{Name: metric.Name, Unit: metric.Unit}
		if v.Unit == Currency && r.Cost != nil && r.Cost.Currency != "" {
			v.Unit = r.Cost.Currency
		}
		number, missing := metric.of(m)
		if missing == "" {
			number = round(number)
			v.Value = &number
		}
		v.Missing = missing
		out = append(out, v)
	}
	return out
}

// Get is the value of a metric by name; a name that is not there has a value without number.
func (s Set) Get(name string) Value {
	for _, v := range s {
		if v.Name == name {
			return v
		}
	}
	for _, f := range families {
		for _, m := range f.list {
			if m.Name == name {
				return Value{Name: name, Unit: m.Unit, Missing: f.missing}
			}
		}
	}
	return Value{Name: name, Missing: "there is no such metric"}
}

// round keeps nine digits after the point, so that sums print alike on every machine.
func round(v float64) float64 {
	r := math.Round(v*1e9) / 1e9
	if r == 0 || math.IsInf(r, 0) || math.IsNaN(r) {
		return cmp.Or(v, 0) // no minus zero, and large numbers as they are
	}
	return r
}

// Text prints a number in a unit as tables show it: "40s", "12.5 %", "3", "1.2340 USD".
func Text(v float64, unit string) string { return text(v, unit, 0) }

// Texts prints numbers that are beside each other: with as many digits more than Text as it takes for those that differ to look
// different.
func Texts(values []float64, unit string) []string {
	distinct := map[float64]bool{}
	for _, v := range values {
		distinct[v] = true
	}
	var out []string
	for more := 0; more <= 9; more++ { // values are rounded to nine digits
		out = out[:0]
		looks := map[string]bool{}
		for _, v := range values {
			out = append(out, text(v, unit, more))
			looks[out[len(out)-1]] = true
		}
		if len(looks) == len(distinct) {
			break
		}
	}
	return out
}

// text is Text with more digits.
func text(v float64, unit string, more int) string {
	switch unit {
	case Seconds:
		return seconds(v, more)
	case Percent:
		return trim(v, 2+more) + " %"
	case "nodes", "pods", "replicas", "steps", "groups", "requests", "events", "", "swings", "decisions", "kills", "evictions", "resizes":
		return trim(v, 3+more)
	case "node-hours", "pod-hours", "replica-hours", "core-hours", "GiB-hours", "1/h":
		return trim(v, 4+more)
	}
	return trim(v, 6+more) + " " + unit
}

// Signed is Text with a plus where there is no minus.
func Signed(v float64, unit string) string {
	if v > 0 {
		return "+" + Text(v, unit)
	}
	return Text(v, unit)
}

func seconds(v float64, more int) string {
	if d := time.Duration(math.Round(v * 1e9)); math.Abs(v) < 1e9 {
		to := time.Millisecond
		for range min(more, 6) {
			to /= 10
		}
		return d.Round(to).String()
	}
	return trim(v, 0) + "s"
}

// trim prints at most so many digits after the point, and no trailing zeros.
func trim(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if v != 0 && (s == "0" || s == "-0") {
		return fmt.Sprintf("%.3g", v)
	}
	if s == "-0" {
		return "0"
	}
	return s
}
