// Package curvepage is a page of tables and curves for a browser, which needs no script and asks the network for nothing.
package curvepage

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/scalehist/scalehist/internal/curveplot"
)

const style = `:root{color-scheme:light dark}body{font:14px/1.5 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;max-width:1040px;margin:24px auto;padding:0 16px}
table{border-collapse:collapse;margin:12px 0}th,td{padding:3px 10px;text-align:right;border-bottom:1px solid #8884}th:nth-child(-n+2),td:nth-child(-n+2){text-align:left}
.front{font-weight:600}summary{cursor:pointer;font-weight:600;margin:12px 0 4px}svg.chart{width:100%;height:auto}pre{overflow:auto}.scroll{overflow-x:auto}
` + curveplot.Style

// Table is a table of numbers: the first column has marks, and no head.
type Table struct {
	Head []string
	Rows []Row
}

// Row is a row of a table; the best one is bold.
type Row struct {
	Mark  string
	Best  bool
	Cells []string
}

// Chart is a drawing that folds, below its numbers if it has any.
type Chart struct {
	Title string
	Open  bool
	Table *Table
	SVG   template.HTML
}

// parts are what bodies consist of: "table" of a Table, "charts" of Charts, "notes" of texts, "numbers" of the report as text.
var parts = template.Must(template.New("parts").Parse(`{{define "table"}}<div class="scroll"><table><tr><th></th>{{range .Head}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr{{if .Best}} class="front"{{end}}><td>{{.Mark}}</td>{{range .Cells}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>
{{end}}{{define "charts"}}{{range .}}<details{{if .Open}} open{{end}}><summary>{{.Title}}</summary>
{{with .Table}}{{template "table" .}}{{end}}{{.SVG}}</details>
{{end}}{{end}}{{define "notes"}}{{range .}}<p>{{.}}</p>
{{end}}{{end}}{{define "numbers"}}<details><summary>All numbers</summary><pre>{{.}}</pre></details>
{{end}}`))

// Body is the template of a page's body. Texts are escaped by html/template, drawings by curveplot.
func Body(text string) *template.Template {
	return template.Must(template.Must(parts.Clone()).New("body").Parse(text))
}

// Write writes the page whose body a template makes of data.
func Write(w io.Writer, title string, body *template.Template, data any) error {
	var text strings.Builder
	if err := body.Execute(&text, data); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	sum := sha256.Sum256([]byte(style))
	_, err := fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"scalehist\">\n<title>%s · scalehist</title>\n<style>%s</style>\n</head>\n<body>\n%s</body>\n</html>\n",
		base64.StdEncoding.EncodeToString(sum[:]), template.HTMLEscapeString(title), style, text.String())
	return err
}
