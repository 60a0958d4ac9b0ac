package spec

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var known = []Option{{Name: "margin", Default: "0.15"}, {Name: "window", Default: "1h"}, {Name: "cpu", Default: "250m"}, {Name: "memory", Default: "1Gi"}, {Name: "seed", Default: "1"}, {Name: "on", Default: "true"}}

// TestValues: what is given, else the default.
func TestValues(t *testing.T) {
	name, settings := Parse("max-usage:margin=0.3,--cpu=2")
	v, err := New(known, settings)
	if err != nil || name != "max-usage" {
		t.Fatal(name, err)
	}
	if v.Number("margin", 0, 1) != 0.3 || v.Duration("window", time.Minute) != time.Hour || v.Quantity("cpu", true) != 2000 || v.Quantity("memory", false) != 1<<30 || v.Whole("seed") != 1 || !v.Flag("on") || v.Err != nil {
		t.Errorf("%+v", v)
	}
}

// TestWrong: the first value that is wrong is the error, with what is wanted.
func TestWrong(t *testing.T) {
	for text, want := range map[string]string{
		"x:margin=2": "margin=2: want a number from 0 to 1", "x:margin=NaN": "margin=NaN", "x:window=5": "want a duration from 1m0s", "x:cpu=-1": "want an amount",
		"x:memory=1e30": "want an amount", "x:seed=1.5": "want a whole number", "x:on=2": "want true or false", "x:mrgin=1": `did you mean "margin"`, "x:margin=1,margin=1": "given twice",
	} {
		_, settings := Parse(text)
		v, err := New(known, settings)
		if err == nil {
			v.Number("margin", 0, 1)
			v.Duration("window", time.Minute)
			v.Quantity("cpu", true)
			v.Quantity("memory", false)
			v.Whole("seed")
			v.Flag("on")
			err = v.Err
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

// TestString: what String writes, Parse reads.
func TestString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var settings []Setting
		for range rapid.IntRange(0, 4).Draw(t, "settings") {
			settings = append(settings, Setting{rapid.StringMatching(`[a-z][a-z-]*`).Draw(t, "name"), rapid.StringMatching(`[a-z0-9.:=]*`).Draw(t, "value")})
		}
		text := String("name", settings)
		name, again := Parse(text)
		if diff := cmp.Diff(settings, again); diff != "" || name != "name" {
			t.Fatalf("%s: %s %s", text, name, diff)
		}
	})
}

// TestChoose: a kind by name makes what its values say; the error names what is unknown or wrong.
func TestChoose(t *testing.T) {
	kinds := []Kind[float64]{{Name: "plain", Make: func(*Values) float64 { return 1 }}, {Name: "scaled", Options: known, Make: func(v *Values) float64 { return v.Number("margin", 0, 1) }}}
	for text, want := range map[string]float64{"plain": 1, "scaled": 0.15, "scaled:margin=0.5": 0.5} {
		name, settings, got, err := Choose("shape", kinds, text)
		if err != nil || got != want || String(name, settings) != text {
			t.Errorf("%s: %s %v %g %v", text, name, settings, got, err)
		}
	}
	for text, want := range map[string]string{
		"scled": `shape "scled" is not known: choose plain, scaled; did you mean "scaled"?`, "plain:margin=1": "shape plain: ", "scaled:margin=2": "shape scaled: margin=2: want a number",
	} {
		if _, _, _, err := Choose("shape", kinds, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

// TestFirst: the first setting may be the value of an option alone, and what is returned has its name; a kind that reads settings itself gets them all.
func TestFirst(t *testing.T) {
	kinds := []Kind[string]{{Name: "url", First: "at", Options: []Option{{Name: "at"}, {Name: "window", Default: "1h"}}, Make: func(v *Values) string { return v.Text("at") }},
		{Name: "any", Of: func(s []Setting) (string, error) { return String("", s), nil }}}
	for text, want := range map[string][2]string{
		"url:http://a:1/b,window=2h": {"http://a:1/b", "url:at=http://a:1/b,window=2h"}, "url:at=http://a": {"http://a", "url:at=http://a"},
		"url:window": {"", "url:window="}, "url": {"", "url"}, "any:x=1,y=2": {":x=1,y=2", "any:x=1,y=2"},
	} {
		name, settings, made, err := Choose("shape", kinds, text)
		if got := [2]string{made, String(name, settings)}; err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}
