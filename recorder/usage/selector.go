package usage

import (
	"fmt"

	"github.com/prometheus/prometheus/promql/parser"
)

// checkSelector refuses what is no selector of series: a Prometheus would refuse it when recording has begun, or answer something else than the samples that were
// scraped. The error has the place, as line:column.
func checkSelector(text string) error {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return fmt.Errorf("series %s: %w", text, err)
	}
	s, ok := e.(*parser.VectorSelector)
	switch {
	case !ok:
		return fmt.Errorf(`series %s: an expression (%s) is not a selector of series: want one such as up{job="web"}; record the values of expressions as queries`, text, parser.DocumentedType(e.Type()))
	case s.OriginalOffset != 0 || s.OriginalOffsetExpr != nil || s.Timestamp != nil || s.StartOrEnd != 0:
		return fmt.Errorf("series %s: leave out offset and @: samples are recorded with the times at which they were scraped", text)
	}
	return nil
}
