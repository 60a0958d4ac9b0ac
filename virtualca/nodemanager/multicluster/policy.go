package multicluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// policies order the offers that fit. Equals are in the order of the list, which is by name.
var policies = map[string]func([]offer) (offer, bool){
	// The original system's: the first that is not used.
	"first-match": func(all []offer) (offer, bool) {
		for _, o := range all {
			if !o.used {
				return o, true
			}
		}
		return offer{}, false
	},
	// What is not priced comes last.
	"cheapest": least(byPrice, byRegion),
	"nearest":  least(byRegion, byPrice),
	// Spread spreads shares, fullest packs them.
	"spread":  least(func(a, b offer) int { return cmp.Compare(b.free, a.free) }, byPrice),
	"fullest": least(func(a, b offer) int { return cmp.Compare(a.free, b.free) }, byPrice),
}

// Policies are the names of all.
func Policies() []string { return slices.Sorted(maps.Keys(policies)) }

func policyOf(name string) (func([]offer) (offer, bool), error) {
	p, ok := policies[cmp.Or(name, "first-match")]
	if !ok {
		return nil, fmt.Errorf("policy %q: %w: choose among %s", name, errPolicy, strings.Join(Policies(), ", "))
	}
	return p, nil
}

func least(orders ...func(a, b offer) int) func([]offer) (offer, bool) {
	return func(all []offer) (offer, bool) {
		if len(all) == 0 {
			return offer{}, false
		}
		return slices.MinFunc(all, func(a, b offer) int {
			for _, order := range orders {
				if c := order(a, b); c != 0 {
					return c
				}
			}
			return cmp.Compare(a.at, b.at)
		}), true
	}
}

func byPrice(a, b offer) int {
	if a.priced != b.priced {
		if a.priced {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.price, b.price)
}

func byRegion(a, b offer) int { return cmp.Compare(a.region, b.region) }
