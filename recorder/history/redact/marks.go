package redact

import (
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// queryKind begins what recordings and gaps call a Prometheus query; its name follows, which is that of its series.
const queryKind = "Query:"

// markedKinds are the kinds that recordings and gaps name.
var markedKinds = func() map[string]bool {
	out := words(`Usage Sample Event`)
	for gvk := range objectlog.Scheme.AllKnownTypes() {
		if openKinds[gvk.Kind] {
			out[gvk.Kind] = true
		}
	}
	for _, gk := range objectlog.CustomKinds() {
		out[gk.String()] = true
	}
	return out
}()

// kinds rewrites what a recording or a gap is about.
func (r *rewriter) kinds(list []string) []string {
	for i, k := range list {
		if query, ok := strings.CutPrefix(k, queryKind); ok {
			list[i] = queryKind + r.open("series", query, openSeries)
			continue
		}
		list[i] = r.open("kind", k, markedKinds)
	}
	return list
}

// markName is the name of a recording or a gap: an export numbers them.
func (r *rewriter) markName(s string) string {
	if isSmall(s) {
		return s
	}
	return r.name("mark", s)
}

// origin keeps what a recording may say of where it comes from.
func (r *rewriter) origin(o scalehist.Origin) scalehist.Origin {
	switch o {
	case scalehist.OriginRecorded, scalehist.OriginImported, scalehist.OriginScripted:
		return o
	}
	return scalehist.Origin(r.text(string(o)))
}
