package crosscheck

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// mismatch is what differs after a step: the first thing, and the sites of all.
type mismatch struct {
	step int
	// site says what differs in general, the same for all programs that show it: "Pod .Spec.Overhead".
	site string
	// sites are all that differ after this step.
	sites []string
	diff  string
}

// exceptions are what may differ between control planes.
//
//   - metadata.resourceVersion: each counts its own writes.
//   - metadata.managedFields: bookkeeping of server-side apply, which nobody uses here.
//   - An empty list or map and none: the wire does not tell them apart.
//   - Times are compared as instants: a time zone does not survive the wire.
//   - metadata.generation of pods, after an Apply was refused: a control plane that writes in parallel takes back what came
//     after the refused change, and the API server counts that.
//   - The order of several errors in one refusal: see alike.
//   - A quantity is compared as it is printed: its inner representation does not survive the wire.
var exceptions = []gocmp.Option{
	cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion", "ManagedFields"),
	cmpopts.EquateEmpty(),
	gocmp.Comparer(func(a, b metav1.Time) bool { return a.Time.Equal(b.Time) }),
	gocmp.Comparer(func(a, b metav1.MicroTime) bool { return a.Time.Equal(b.Time) }),
	gocmp.Comparer(func(a, b resource.Quantity) bool { return a.String() == b.String() }),
}

func isPodGeneration(p gocmp.Path) bool {
	return p.String() == "ObjectMeta.Generation" && p.Index(0).Type() == reflect.TypeFor[*corev1.Pod]()
}

var (
	// uids are what API servers draw: they are in some messages.
	uids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	versions = regexp.MustCompile(`(?i)(resourceVersion["\s:=]+)[0-9]+`)
	spaces   = regexp.MustCompile(`[\s\x{a0}]+`)
	counters = regexp.MustCompile(`#[0-9]+`)
)

// normal drops from the text of an error what differs by nature: UIDs and resource versions that a server made, and the
// kind of white space, which the library that prints differences chooses by the program it is in.
func normal(text string) string {
	text = uids.ReplaceAllString(text, "<uid>")
	text = versions.ReplaceAllString(text, "${1}<version>")
	return strings.TrimSpace(spaces.ReplaceAllString(text, " "))
}

// compare compares outcomes and clusters; nil means that they are equal.
func (p *pair) compare(out [2]outcome) *mismatch {
	m := &mismatch{}
	p.compareErrors(m, out)
	p.report(m, "Settled", out[0].Settled, out[1].Settled)
	a, b := p.cp[0].Objects(), p.cp[1].Objects()
	equal := map[[2]scalehist.Object]bool{}
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range va.NumField() {
		p.compareKind(m, va.Type().Field(i).Name, va.Field(i), vb.Field(i), equal)
	}
	p.equal = equal
	if m.site == "" {
		return nil
	}
	return m
}

func (p *pair) add(m *mismatch, site, diff string) {
	if slices.Contains(p.ignore, site) {
		return
	}
	if m.site == "" {
		m.site, m.diff = site, diff
	}
	m.sites = append(m.sites, site)
}

func (p *pair) compareErrors(m *mismatch, out [2]outcome) {
	a, b := normal(out[0].Error), normal(out[1].Error)
	if p.anyUID {
		a, b = counters.ReplaceAllString(a, "#"), counters.ReplaceAllString(b, "#")
	}
	var site string
	switch {
	case out[0].Kind == kindPanic && out[1].Kind == kindPanic:
		site = "panic: " + gist(a) // two that die alike are no better than one
	case alike(a, b) && out[0].Kind == out[1].Kind:
		return
	case a == "":
		site = "error of " + p.planes[1].Name + " alone: " + gist(b)
	case b == "":
		site = "error of " + p.planes[0].Name + " alone: " + gist(a)
	case a == b:
		site = fmt.Sprintf("kind of error: %s or %s", cmp.Or(out[0].Kind, "none"), cmp.Or(out[1].Kind, "none"))
	default:
		site = "error text: " + gist(a)
	}
	p.add(m, site, fmt.Sprintf("error\n- %s\n+ %s\n", errorLine(out[0]), errorLine(out[1])))
}

// alike says whether two errors say the same. What is wrong with the entries of a map the API server says in the order of
// a map, another one each time.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	parts := func(text string) []string {
		out := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '[' || r == ']' })
		for i := range out {
			out[i] = strings.TrimSpace(out[i])
		}
		slices.Sort(out)
		return out
	}
	return strings.Contains(a, "is invalid: [") && slices.Equal(parts(a), parts(b))
}

func errorLine(o outcome) string {
	if o.Error == "" {
		return "none"
	}
	if o.Kind == "" {
		return normal(o.Error)
	}
	return fmt.Sprintf("%s (%s)", normal(o.Error), o.Kind)
}

var (
	quoted  = regexp.MustCompile(`"[^"]*"`)
	ofName  = regexp.MustCompile(`^(add|update|delete) (\w+) \S+:`)
	second  = regexp.MustCompile(`(:[0-9]{2})\.[0-9]+Z`)
	digits  = regexp.MustCompile(`[0-9]+`)
	gistLen = 100
)

// gist is the text of an error without names and numbers.
func gist(text string) string {
	text = ofName.ReplaceAllString(text, "$1 $2:")
	text = quoted.ReplaceAllString(text, `""`)
	text = second.ReplaceAllString(text, "${1}Z") // an instant on the second is written without a fraction
	text = digits.ReplaceAllString(text, "N")
	if len(text) > gistLen {
		text = text[:gistLen]
	}
	return text
}

// compareKind compares the objects of a kind: which there are and their order, then each.
func (p *pair) compareKind(m *mismatch, kind string, a, b reflect.Value, equal map[[2]scalehist.Object]bool) {
	namesOf := func(v reflect.Value) []string {
		out := make([]string, v.Len())
		for i := range out {
			out[i] = fullName(v.Index(i).Interface().(scalehist.Object))
		}
		return out
	}
	na, nb := namesOf(a), namesOf(b)
	if !slices.Equal(na, nb) {
		site := kind + " in other order"
		slices.Sort(na)
		slices.Sort(nb)
		if !slices.Equal(na, nb) {
			site = kind + ": which there are"
		}
		p.add(m, site, fmt.Sprintf("%s\n- %s\n+ %s\n", kind, strings.Join(namesOf(a), " "), strings.Join(namesOf(b), " ")))
		return
	}
	for i := range a.Len() {
		x, y := a.Index(i).Interface().(scalehist.Object), b.Index(i).Interface().(scalehist.Object)
		pairing := [2]scalehist.Object{x, y}
		if p.equal[pairing] || p.report(m, objectKey(x), x, y) {
			equal[pairing] = true
		}
	}
}

// report compares two values of a type and adds what differs; it says whether they are equal.
func (p *pair) report(m *mismatch, what string, a, b any) bool {
	opts := exceptions
	if p.refused {
		opts = append(slices.Clip(opts), gocmp.FilterPath(isPodGeneration, gocmp.Ignore()))
	}
	if p.anyUID {
		opts = append(slices.Clip(opts), gocmp.Comparer(func(a, b types.UID) bool {
			return counters.ReplaceAllString(string(a), "#") == counters.ReplaceAllString(string(b), "#")
		}))
	}
	var r siteReporter
	if gocmp.Equal(a, b, append(slices.Clip(opts), gocmp.Reporter(&r))...) {
		return true
	}
	kind, _, _ := strings.Cut(what, " ")
	// Printing differences is left to the library; its white space is not stable.
	diff := strings.ReplaceAll(gocmp.Diff(a, b, opts...), "\u00a0", " ")
	for _, s := range r.sites {
		p.add(m, kind+" "+s, what+"\n"+diff)
	}
	return false
}

// siteReporter collects the paths that differ, without indices and keys.
type siteReporter struct {
	path  gocmp.Path
	sites []string
}

func (r *siteReporter) PushStep(s gocmp.PathStep) { r.path = append(r.path, s) }
func (r *siteReporter) PopStep()                  { r.path = r.path[:len(r.path)-1] }

func (r *siteReporter) Report(rs gocmp.Result) {
	if rs.Equal() {
		return
	}
	var b strings.Builder
	for _, s := range r.path {
		switch s := s.(type) {
		case gocmp.StructField:
			b.WriteString("." + s.Name())
		case gocmp.MapIndex:
			b.WriteString("[" + fmt.Sprint(s.Key()) + "]")
		case gocmp.SliceIndex:
			b.WriteString("[]")
		}
	}
	if site := b.String(); !slices.Contains(r.sites, site) {
		r.sites = append(r.sites, site)
	}
}
