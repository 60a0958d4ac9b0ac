package redact

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Numbers stay where a rule compares or counts with them, and if they are such as clusters have: of 32 bits. Longer ones are
// names in disguise, the number of an account for one.

// isInteger says whether a text is a whole number.
func isInteger(s string) bool { return isNumber(strings.TrimPrefix(s, "-")) }

// isSmall says whether it is one of 32 bits.
func isSmall(s string) bool {
	_, err := strconv.ParseInt(s, 10, 32)
	return err == nil && isInteger(s)
}

// units of amounts: durations, shares, quantities.
const units = `(?:%|m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi|ms|us|µs|ns|s|h)`

var (
	// amountForm is a number with or without a unit, or a duration of several.
	amountForm = regexp.MustCompile(`^-?\d{1,9}(\.\d{1,9})?` + units + `?$|^` + durationPattern + `$`)
	// quantityForm is an amount of a resource, which may be in bytes.
	quantityForm = regexp.MustCompile(`^\d{1,19}(\.\d{1,9})?(` + units + `|e\d{1,2})?$`)
)

// inBytes are the resources whose amounts may be in bytes, and then have as many digits as numbers of accounts;
// annotatedBytes are such annotations.
var (
	inBytes        = words(`memory storage ephemeral-storage`)
	annotatedBytes = words(`capacity.cluster-autoscaler.kubernetes.io/memory capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk`)
)

// isAmount says whether a text is a number, a share, a duration or a quantity, of a size that clusters have.
func isAmount(s string) bool { return isSmall(s) || amountForm.MatchString(s) }

// number rewrites a whole number that others are compared with. What does not fit in 32 bits is replaced by its place among all
// such numbers of the history, beyond those of 32 bits: they compare as they did.
func (r *rewriter) number(s string) string {
	n, ok := new(big.Int).SetString(s, 10)
	switch {
	case isSmall(s) || !ok:
		return s
	case r.collecting:
		r.long[n.String()] = true
		return s
	}
	at, _ := slices.BinarySearchFunc(r.longSorted, n, (*big.Int).Cmp)
	now := int64(1)<<32 + int64(at)
	if n.Sign() < 0 {
		now = -int64(1)<<32 - int64(len(r.longSorted)-at)
	}
	out := strconv.FormatInt(now, 10)
	r.mapping.note("number", s, out)
	return out
}

// sortNumbers ends the collection of long numbers.
func (r *rewriter) sortNumbers() {
	for s := range r.long {
		n, _ := new(big.Int).SetString(s, 10)
		r.longSorted = append(r.longSorted, n)
	}
	slices.SortFunc(r.longSorted, (*big.Int).Cmp)
}
