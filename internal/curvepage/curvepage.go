// Package curvepage is a page of tables and curves for a browser, which needs no script and asks the network for nothing.
package curvepage

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/scalehist/scalehist/internal/curveplot"
)

const style = `:root{color-scheme:light dark}body{font:14px/1.5 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;max-width:1040px;margin:24px auto;padding:0 16px}
table{border-collapse:collapse;margin:12px 0}th,td{padding:3px 10px;text-align:right;border-bottom:1px solid #8884}th:nth-child(-n+2),td:nth-child(-n+2){text-align:left}
.front{font-weight:600}summary{cursor:pointer;font-weight:600;margin:12px 0 4px}svg.chart{width:100%;height:auto}pre{overflow:auto}.scroll{overflow-x:auto}
` + curveplot.Style

// Write writes the page. Body is HTML.
func Write(w io.Writer, title, body string) error {
	sum := sha256.Sum256([]byte(style))
	_, err := fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"scalehist\">\n<title>%s · scalehist</title>\n<style>%s</style>\n</head>\n<body>\n%s</body>\n</html>\n",
		base64.StdEncoding.EncodeToString(sum[:]), template.HTMLEscapeString(title), style, body)
	return err
}
