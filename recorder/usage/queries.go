package usage

import (
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/internal/decode"
)

// Query is one PromQL expression whose values are recorded as series of its name.
type Query struct {
	Name  string
	Query string
	// Step is the distance of its instants, in whole seconds.
	Step time.Duration
	// Series records the samples as they were scraped of the series that Query, a selector, selects. Step is how often they are asked for.
	Series bool
}

// SeriesOf is the query that records the series of a selector as they were scraped; its name is the selector.
func SeriesOf(selector string) Query {
	return Query{Name: selector, Query: selector, Step: DefaultStep, Series: true}
}

// DefaultStep is the step of a query that says none.
const DefaultStep = 30 * time.Second

// queriesFile is the content of a file of queries, YAML:
//
//	queries:
//	- name: http_requests
//	  query: sum by (namespace) (rate(http_requests_total[5m]))
//	  step: 30s   # default 30s
type queriesFile struct {
	Queries []struct {
		Name  string          `json:"name"`
		Query string          `json:"query"`
		Step  metav1.Duration `json:"step"`
	} `json:"queries"`
}

// ParseQueries reads a file of queries. All that is wrong with it is in the error, by query.
func ParseQueries(data []byte) ([]Query, error) {
	var f queriesFile
	if err := decode.YAML(data, &f); err != nil {
		return nil, fmt.Errorf("not a list of queries: %w", err)
	}
	if len(f.Queries) == 0 {
		return nil, errors.New(`no queries in it: list them under "queries:"`)
	}
	var out []Query
	for _, q := range f.Queries {
		if q.Step.Duration == 0 {
			q.Step.Duration = DefaultStep
		}
		out = append(out, Query{Name: q.Name, Query: q.Query, Step: q.Step.Duration})
	}
	return out, check(out)
}

// ReadQueries is ParseQueries of a file.
func ReadQueries(path string) ([]Query, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("queries: %w", err)
	}
	out, err := ParseQueries(data)
	if err != nil {
		return nil, fmt.Errorf("queries: %s: %w", path, err)
	}
	return out, nil
}

func check(queries []Query) error {
	seen := map[string]bool{}
	var errs []error
	for i, q := range queries {
		where := fmt.Sprintf("query %d (%s)", i+1, q.Name)
		if q.Name == "" {
			where = fmt.Sprintf("query %d", i+1)
			errs = append(errs, fmt.Errorf("%s: name is missing", where))
		}
		if seen[q.Name] {
			errs = append(errs, fmt.Errorf("%s: the name is taken by a query above", where))
		}
		seen[q.Name] = true
		if q.Query == "" {
			errs = append(errs, fmt.Errorf("%s: query is missing", where))
		}
		if q.Series && q.Query != "" {
			if err := checkSelector(q.Query); err != nil {
				errs = append(errs, err)
			}
		}
		if q.Step < time.Second || q.Step%time.Second != 0 {
			errs = append(errs, fmt.Errorf("%s: step %s: want whole seconds, at least one", where, q.Step))
		}
	}
	return errors.Join(errs...)
}
