package decode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/internal/decode"
)

// recipe has a value of every form.
type recipe struct {
	Name  string            `json:"name"`
	At    time.Time         `json:"at"`
	Salt  bool              `json:"salt"`
	Heat  float64           `json:"heat"`
	Steps []step            `json:"steps"`
	Tags  map[string]string `json:"tags"`
	Self  *recipe           `json:"self"`
	inherited
}

type inherited struct {
	Size resource.Quantity `json:"size"`
}

type step struct {
	Minutes int32  `json:"minutes"`
	What    string `json:"what"`
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name, text              string
		wantYAML, wantJSON      string
		wantNoError, onlyInYAML bool
	}{
		{name: "good", text: "{\"name\": \"a\", \"steps\": [{\"minutes\": 3}], \"self\": {\"size\": \"3Gi\"}}", wantNoError: true},
		{name: "list", text: `[1]`, wantYAML: "line 1: a list where an object is due", wantJSON: "array where an object is due"},
		{name: "text", text: `"x"`, wantYAML: `line 1: "x" where an object is due`, wantJSON: "string where an object is due"},
		{name: "number", text: "{\n\"steps\": [{}, {\n\"minutes\": \"few\"}]}", wantYAML: `line 3: steps[1].minutes: "few" where a whole number is due`,
			wantJSON: "line 3: steps.minutes: string where a whole number is due"},
		{name: "fraction", text: "{\"steps\": [{\"minutes\": 1.5}]}", wantYAML: `line 1: steps[0].minutes: "1.5" where a whole number is due`,
			wantJSON: "steps.minutes: number 1.5 where a whole number is due"},
		{name: "large", text: "{\"steps\": [{\"minutes\": 9999999999}]}", wantYAML: `steps[0].minutes: "9999999999" where a whole number is due`,
			wantJSON: "steps.minutes: number 9999999999 where a whole number is due"},
		{name: "flag", text: "{\"salt\": [true]}", wantYAML: "salt: a list where true or false is due", wantJSON: "salt: array where true or false is due"},
		{name: "map", text: "{\"tags\": {\"a\": {}}}", wantYAML: "tags.a: an object where a string is due", wantJSON: "tags: object where a string is due"},
		{name: "inner", text: "{\"self\": {\"self\": []}}", wantYAML: "self.self: a list where an object is due", wantJSON: "self.self: array where an object is due"},
		{name: "reads itself", text: "{\n\"size\": \"much\"\n}", wantYAML: `line 2: size: "much": quantities must match`, wantJSON: "size: quantities must match"},
		{name: "time", text: "{\n\"at\": 5\n}", wantYAML: `line 2: at: "5": input is not a JSON string`, wantJSON: "at: input is not a JSON string"},
		{name: "unknown", text: "{\n\"steps\": [{\n\"minute\": 3}]}", wantYAML: `line 3: steps[0]: unknown key "minute"; did you mean "minutes"?`, wantJSON: `unknown field "steps[0].minute"`},
		{name: "cut", text: "{\n\"steps\": [", wantYAML: "not YAML: line 2:", wantJSON: "line 2: not JSON"},
		{name: "twice", text: "name: a\nname: b\n", wantYAML: `line 2: the key "name" is given twice, first in line 1`, onlyInYAML: true},
		{name: "long", text: "salt: " + strings.Repeat("x", 5000), wantYAML: "salt: \"xxxxxxxx", onlyInYAML: true},
		{name: "alias", text: "self: &a {salt: &b x}\nname: *a\n", wantYAML: `line 1: self.salt: "x" where true or false is due`, onlyInYAML: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check(t, "YAML", decode.YAML([]byte(tc.text), &recipe{}), tc.wantYAML, tc.wantNoError)
			if !tc.onlyInYAML {
				check(t, "JSON", decode.StrictJSON([]byte(tc.text), &recipe{}), tc.wantJSON, tc.wantNoError)
			}
		})
	}
}

func check(t *testing.T, format string, err error, want string, wantNoError bool) {
	t.Helper()
	var located *decode.Error
	switch {
	case wantNoError && err != nil, !wantNoError && !errors.As(err, &located):
		t.Errorf("%s: error %v", format, err)
	case err == nil:
	case !strings.Contains(err.Error(), want), len(err.Error()) > 200, strings.Contains(err.Error(), "Go "):
		t.Errorf("%s: error %q, want %q", format, err, want)
	}
}

func TestJSON(t *testing.T) {
	var r recipe
	if err := decode.JSON([]byte(`{"name": "a", "colour": "blue"}`), &r); err != nil || r.Name != "a" {
		t.Errorf("a key that is not known: %v %+v", err, r)
	}
	if err := decode.StrictJSON([]byte("{}\n{}"), &r); err == nil || err.Error() != "line 2: there is more than one value" {
		t.Errorf("two values: %v", err)
	}
}

// TestScrubbed: errors of libraries are those that they were, without the names of Go.
func TestScrubbed(t *testing.T) {
	inner := errors.New(`couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\"" }`)
	err := decode.Scrubbed(fmt.Errorf("load x: %w", inner))
	if want := "load x: couldn't get version/kind; json parse error: array where an object is due"; err.Error() != want || !errors.Is(err, inner) {
		t.Errorf("got %q, want %q", err, want)
	}
	if decode.Scrubbed(nil) != nil {
		t.Error("no error became one")
	}
	for text, want := range map[string]string{
		"line 2: cannot unmarshal !!seq into string":                             "line 2: a list where a string is due",
		"line 3: cannot unmarshal !!str `here` into service.ControlPlane":        `line 3: "here" where an object is due`,
		"line 3: cannot unmarshal !!map into []service.Cluster":                  "line 3: an object where a list is due",
		"line 3: cannot unmarshal !!str `few` into int":                          `line 3: "few" where a whole number is due`,
		"line 3: cannot unmarshal !!str `few` into float64":                      `line 3: "few" where a number is due`,
		"line 3: cannot unmarshal !!str `few` into bool":                         `line 3: "few" where true or false is due`,
		`line 4: "x" is no duration: write 30s, 12h, 30d or 2w`:                  `line 4: "x" is no duration: write 30s, 12h, 30d or 2w`,
		"json: cannot unmarshal string into Go struct field A.b.c of type uint8": "b.c: string where a whole number is due",
	} {
		if got := decode.Line(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
