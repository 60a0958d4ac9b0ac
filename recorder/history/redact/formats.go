package redact

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// format is a message as upstream writes it: what is fixed is literal, what varies is in angle brackets and is one of
// variables. A message is kept only if it is one of a format from its first to its last byte.
type format struct {
	prefix  string // the literal text before the first variable
	pattern *regexp.Regexp
	vars    []variable
}

// variable is one part of a format: which texts it can be, and what becomes of them.
type variable struct {
	pattern string
	rewrite func(r *rewriter, s string) string
}

// formats reads one format from each line; empty lines are none.
func formats(lines string) []format {
	var out []format
	for line := range strings.Lines(lines) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			out = append(out, newFormat(line))
		}
	}
	return out
}

var angled = regexp.MustCompile(`<[a-z ]+>`)

func newFormat(line string) format {
	var f format
	pattern, at := "^", 0
	for _, m := range angled.FindAllStringIndex(line, -1) {
		v, ok := variables[line[m[0]+1:m[1]-1]]
		if !ok {
			panic("format " + line + ": no variable " + line[m[0]:m[1]]) // a mistake in this package, found by every test
		}
		if f.vars == nil {
			f.prefix = line[:m[0]]
		}
		pattern += regexp.QuoteMeta(line[at:m[0]]) + "(" + v.pattern + ")"
		f.vars, at = append(f.vars, v), m[1]
	}
	if f.vars == nil {
		f.prefix = line
	}
	f.pattern = regexp.MustCompile(pattern + regexp.QuoteMeta(line[at:]) + "$")
	return f
}

// format rewrites a text that is of one of the formats; false if it is of none.
func (r *rewriter) format(list []format, s string) (string, bool) {
	for _, f := range list {
		if !strings.HasPrefix(s, f.prefix) {
			continue
		}
		m := f.pattern.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		var b strings.Builder
		at := 0
		for i, v := range f.vars {
			from, to := m[2*i+2], m[2*i+3]
			b.WriteString(s[at:from])
			b.WriteString(v.rewrite(r, s[from:to]))
			at = to
		}
		b.WriteString(s[at:])
		return b.String(), true
	}
	return "", false
}

// Patterns have no groups of their own but (?:). The most digits that a count has is six: MaxNodes of a group.
const (
	countPattern    = `\d{1,6}`
	wordPattern     = `[^\s,;"{}]+`
	durationPattern = `(?:\d{1,6}(?:\.\d{1,9})?(?:h|ms|µs|ns|m|s)){1,3}`
	// timePattern is what Go writes of a time, its reading of the monotonic clock included, and RFC 3339.
	timePattern = `\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?(?: [+-]\d{4})?(?: UTC)?(?: m=[+-]\d{1,9}\.\d{1,9})?`
)

// variables are the parts of formats by name. They are filled in by init, as some are made of formats themselves.
var variables map[string]variable

func init() {
	kept := func(_ *rewriter, s string) string { return s }
	a := func(class string) func(r *rewriter, s string) string {
		return func(r *rewriter, s string) string { return r.name(class, s) }
	}
	variables = map[string]variable{
		"count":       {countPattern, kept},
		"duration":    {durationPattern, kept},
		"time":        {timePattern, kept},
		"group":       {wordPattern, a("node group")},
		"node":        {wordPattern, a("node")},
		"namespace":   {`[^\s/,;"{}]+`, func(r *rewriter, s string) string { return r.namespace(s) }},
		"pod":         {wordPattern, a("pod")},
		"pods":        {`\S*`, func(r *rewriter, s string) string { return r.name("pod", s) }},
		"owner":       {wordPattern, a("name")},
		"claim":       {`[^"]+`, a("persistentvolumeclaim")},
		"uid":         {wordPattern, func(r *rewriter, s string) string { return string(r.uid(types.UID(s))) }},
		"resource":    {`[A-Za-z0-9._/-]+`, func(r *rewriter, s string) string { return r.resource(s) }},
		"resources":   {`[A-Za-z0-9._/-]+(?:, [A-Za-z0-9._/-]+)*`, func(r *rewriter, s string) string { return r.list(s, r.resource) }},
		"utilization": {`\{[^{}]*\}|` + ratioPattern, (*rewriter).utilization},
		"taint":       {`\{[^{}]*\}`, (*rewriter).taintText},
		"steps":       {`(?:\{\S+ ` + countPattern + `->` + countPattern + ` \(max: ` + countPattern + `\)\} ?)*`, (*rewriter).steps},
		"failure":     {`[^\s.;,]+`, func(r *rewriter, s string) string { return r.open("error class", s, openFailures) }},
		"code":        {`[^;,]+?`, func(r *rewriter, s string) string { return r.code(s) }},
		"gates":       {`\[[^\[\]]*\]`, func(r *rewriter, s string) string { return r.gates(s) }},
		"condition":   {`[A-Za-z]+`, func(r *rewriter, s string) string { return r.open("reason", s, openReasons) }},
		"plugin":      {`"?[A-Za-z]+"?`, func(r *rewriter, s string) string { return r.quotedName("plugin", s) }},
		"text":        {`.+?`, (*rewriter).text},
		"reasons":     {`.*?`, (*rewriter).reasons},
		"message":     {`.+`, (*rewriter).message},
		"preemption":  {`.+`, (*rewriter).preemption},
	}
	messages, unfit, preemptions = formats(messageFormats), formats(unfitFormats), formats(preemptionFormats)
}

// list rewrites the elements of "a, b".
func (r *rewriter) list(s string, rewrite func(string) string) string {
	elements := strings.Split(s, ", ")
	for i := range elements {
		elements[i] = rewrite(elements[i])
	}
	return strings.Join(elements, ", ")
}

func (r *rewriter) quotedName(class, s string) string {
	if plugins[strings.Trim(s, `"`)] {
		return s
	}
	return r.name(class, s)
}

// gates are those of a pod as Go prints them: "[a b]".
func (r *rewriter) gates(s string) string {
	list := strings.Fields(strings.Trim(s, "[]"))
	for i := range list {
		list[i] = r.labelKey(list[i])
	}
	return "[" + strings.Join(list, " ") + "]"
}

var stepPattern = regexp.MustCompile(`\{(\S+)( ` + countPattern + `->` + countPattern + ` \(max: ` + countPattern + `\)\})`)

// steps are scale-ups as the autoscaler prints them: "{group 1->2 (max: 5)} {...}".
func (r *rewriter) steps(s string) string {
	return stepPattern.ReplaceAllStringFunc(s, func(step string) string {
		m := stepPattern.FindStringSubmatch(step)
		return "{" + r.name("node group", m[1]) + m[2]
	})
}

var taintForm = regexp.MustCompile(`^\{([^{}:=\s]+)(: ?|=)?([^{}:\s]*)(:[A-Za-z]+)?\}$`)

// taintText is a taint in a message: "{key: value}", "{key=value:Effect}".
func (r *rewriter) taintText(s string) string {
	m := taintForm.FindStringSubmatch(s)
	if m == nil {
		return "{" + r.text(s) + "}"
	}
	if m[4] != "" {
		m[4] = ":" + r.effect(m[4][1:])
	}
	return "{" + r.labelKey(m[1]) + m[2] + r.labelValue(m[1], m[3]) + m[4] + "}"
}

// ratioPattern is a share as Go prints it.
const ratioPattern = `\d{1,3}(?:\.\d{1,20})?(?:e-\d{1,3})?`

var ratio = regexp.MustCompile("^" + ratioPattern + "$")

// utilization is that of a node: a share, or several and a resource among them.
func (r *rewriter) utilization(s string) string {
	if ratio.MatchString(s) {
		return s
	}
	parts := strings.Split(strings.Trim(s, "{}"), " ")
	for i, p := range parts {
		if p != "" && !ratio.MatchString(p) {
			parts[i] = r.resource(p)
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}
