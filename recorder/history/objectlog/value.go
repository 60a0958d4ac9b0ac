package objectlog

import (
	"encoding/json"
	"fmt"
	"math"
)

// Value is a value of a metric series in JSON: a number, or "NaN", "+Inf" or "-Inf", which JSON has no numbers for, as
// Prometheus' API spells them.
type Value float64

var nonFinite = map[string]Value{"NaN": Value(math.NaN()), "+Inf": Value(math.Inf(1)), "-Inf": Value(math.Inf(-1))}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	switch f := float64(v); {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"+Inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Inf"`), nil
	default:
		return json.Marshal(f)
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		known, ok := nonFinite[s]
		if !ok {
			return fmt.Errorf(`%q is no value: want a number, "NaN", "+Inf" or "-Inf"`, s)
		}
		*v = known
		return nil
	}
	return json.Unmarshal(b, (*float64)(v))
}
