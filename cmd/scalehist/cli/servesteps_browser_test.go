package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestServeShowsAllSteps: the steps of a day are all seen, without a box that ends in the middle of a line.
func TestServeShowsAllSteps(t *testing.T) {
	page := openTab(t)
	dir, config := t.TempDir(), written(t, "clusters.yaml", []byte("clusters: []\n"))
	b, err := os.ReadFile(fixture("full-day"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "full-day.db"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--config", config, "--dir", dir)
	page.do(chromedp.EmulateViewport(1200, 900), chromedp.Navigate(s.url+"/clusters/full-day"), chromedp.WaitVisible(chromedp.CSS(`#steps table`)))
	page.has(`document.querySelectorAll('#steps tbody tr').length === 13`)
	page.has(`document.querySelector('#steps').scrollHeight <= document.querySelector('#steps').clientHeight`)
	page.do(chromedp.Navigate("about:blank"))
}
