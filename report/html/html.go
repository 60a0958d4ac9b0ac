package html

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the bundle
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/durable"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/metrics"
)

var (
	//go:embed dist/report.js
	script string
	//go:embed dist/report.css
	style string
)

// FileName is what Save calls the page.
const FileName = report.PageName

// Run is a report under the label the page calls it by.
type Run struct {
	Label  string
	Report *scalehist.ReplayReport
}

// Input is what a page shows: one run, or several, each further one held against the first. Labels must differ.
type Input struct {
	Runs []Run
}

// packFrom is the size of a view in bytes from which on the page holds it compressed. Below it a person can read it in the
// file.
const packFrom = 256 << 10

// Write writes the page. The same input gives the same bytes.
func Write(w io.Writer, in Input) error {
	v, err := buildView(plaintext.Values(in)) // a browser obeys what reorders text
	if err != nil {
		return err
	}
	// The encoder writes <, > and & as escapes: nothing in a report can end the element that holds it.
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the report of %s: %w", v.Title, err)
	}
	kind := "application/json"
	if len(data) >= packFrom {
		if data, err = pack(data); err != nil {
			return fmt.Errorf("compress the report of %s: %w", v.Title, err)
		}
		kind = "application/gzip"
	}
	_, err = io.WriteString(w, page(v.Title, kind, string(data)))
	return err
}

func buildView(in Input) (*view, error) {
	if len(in.Runs) == 0 {
		return nil, errors.New("there is nothing to show: give a report")
	}
	v := &view{Version: viewVersion, Title: in.Runs[0].Report.Scenario}
	var reports []*scalehist.ReplayReport
	for _, r := range in.Runs {
		reports = append(reports, r.Report)
	}
	shown := metrics.Defined(reports...)
	seen := map[string]bool{}
	for i, r := range in.Runs {
		if seen[r.Label] {
			return nil, fmt.Errorf("two reports are called %q: give them different labels", r.Label)
		}
		seen[r.Label] = true
		v.Runs = append(v.Runs, buildRun(r.Label, r.Report, shown))
		if i > 0 {
			v.Pairs = append(v.Pairs, buildPair(i, in.Runs[0].Report, r.Report))
		}
	}
	return v, nil
}

// pack is gzip in base64, which the browser unpacks itself.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(b.Bytes())), nil
}

// page puts the parts together. The policy lets nothing run or load but these very bytes, and nothing reach a network.
func page(title, kind, data string) string {
	var b strings.Builder
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", hash(script), hash(style))
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", policy)
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
	b.WriteString("<meta name=\"generator\" content=\"scalehist\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n")
	fmt.Fprintf(&b, "<title>%s · scalehist</title>\n<style>%s</style>\n</head>\n<body>\n", template.HTMLEscapeString(title), style)
	fmt.Fprintf(&b, "<div id=\"app\"><noscript>This page draws the replay of %s with a script of its own: let it run, or read report.txt beside it.</noscript></div>\n",
		template.HTMLEscapeString(title))
	fmt.Fprintf(&b, "<script type=\"%s\" id=\"data\">%s</script>\n<script>%s</script>\n</body>\n</html>\n", kind, data, script)
	return b.String()
}

// hash is how a policy names an inline script or style.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Save writes what report.Save does, and the page beside it: all of one report, or none.
func Save(dir string, r *scalehist.ReplayReport) error {
	files, err := report.Files(r)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := Write(&page, Input{Runs: []Run{{Label: r.Autoscaler, Report: r}}}); err != nil {
		return err
	}
	files[FileName] = page.Bytes()
	return report.SaveFiles(dir, r, files)
}

// WriteFile writes the page into a file, which appears when it is whole.
func WriteFile(path string, in Input) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*.html")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(Write(f, in), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return durable.Replace(f.Name(), path)
}
