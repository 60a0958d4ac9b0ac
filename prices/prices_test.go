package prices_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/prices"
)

// size is the part of a machine type's name that says how large it is.
var size = regexp.MustCompile(`^(.*?[.-])(\d+)x?(large)?$|^(Standard_[DE])(\d+)(d?s_v\d)$`)

// TestPublic: each list has its source and date, prices are on demand, and grow with the size of the machine.
func TestPublic(t *testing.T) {
	f, err := prices.ParseFile(prices.Public())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Lists) != 3 || f.Currency != "USD" {
		t.Errorf("%d lists in %s, want 3 in USD", len(f.Lists), f.Currency)
	}
	for _, l := range f.Lists {
		if !strings.HasPrefix(l.Source, "https://") || l.Date == "" || l.Provider == "" || len(l.Models) < 30 || len(l.One) != 0 {
			t.Errorf("%s/%s: source %q, date %q, %d types, %d without a model", l.Provider, l.Region, l.Source, l.Date, len(l.Models), len(l.One))
		}
		perUnit := map[string]float64{}
		for name, p := range l.Models {
			if p.OnDemand == nil || *p.OnDemand <= 0 || p.Spot != nil || p.Reserved != nil {
				t.Errorf("%s: want an on-demand price and no other", name)
				continue
			}
			m := size.FindStringSubmatch(name)
			if m == nil || m[1] == "t3." || strings.HasPrefix(name, "g") || strings.HasPrefix(name, "t") && l.Provider == "aws" {
				continue // burstable and GPU machines do not grow evenly
			}
			family, text := m[1], m[2]
			if m[4] != "" {
				family, text = m[4]+m[6], m[5]
			}
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			unit := *p.OnDemand / float64(n)
			if known, ok := perUnit[family]; ok && math.Abs(unit/known-1) > 0.01 {
				t.Errorf("%s: %.5f a unit, %.5f elsewhere in its family: mistyped?", name, unit, known)
			}
			perUnit[family] = unit
		}
	}
}
