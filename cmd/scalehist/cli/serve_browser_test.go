package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// patience only bounds a test that would never end; a slow machine stays far below it.
const patience = 4 * time.Minute

// chromium finds the browser. Without one a developer's run skips the test; CI says what to install.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const what = "no Chromium on the PATH: install it (Debian: apt-get install chromium) to test the web app in a browser"
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
	return ""
}

// tab is a browser with one page; what goes wrong in the page is kept.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

func openTab(t *testing.T) *tab {
	t.Helper()
	path := chromium(t)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true), chromedp.UserDataDir(t.TempDir()))
	parent, cancelParent := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close the browser: %v", err)
		}
		cancel()
		cancelParent()
	})
	page := &tab{t: t, ctx: ctx}
	page.do(chromedp.Navigate("about:blank"))
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleWarning {
				page.mu.Lock()
				page.errors = append(page.errors, fmt.Sprintf("%s: %s (%s)", m.Type, m.Text, m.URL))
				page.mu.Unlock()
			}
		}
	}()
	return page
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// has waits until a JavaScript expression is true.
func (p *tab) has(expression string) {
	p.t.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		p.t.Fatalf("waiting for %s: %v, the page says:\n%s", expression, err, p.text(`document.body.innerText`))
	}
}

func (p *tab) text(expression string) string {
	p.t.Helper()
	s, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return s
}

// shot writes a screenshot of the page when SCALEHIST_SCREENSHOTS names a directory for them.
func (p *tab) shot(name, scheme string, width, height int64) {
	p.t.Helper()
	dir := os.Getenv("SCALEHIST_SCREENSHOTS")
	if dir == "" {
		return
	}
	p.do(chromedp.EmulateViewport(width, height))
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		p.t.Fatal(err)
	}
	// The plot is drawn again for its width; two frames later it is on the screen.
	if _, err := chromedp.Run(p.ctx, chromedp.PollFunction[bool](`() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))`,
		chromedp.WithPollingTimeout(patience))); err != nil {
		p.t.Fatal(err)
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// TestServeInBrowser clicks through the web app while it records: the plot shows the nodes there are and follows when
// one comes, keys read values, a download is a history, an upload shows, and nothing is wrong in the console.
func TestServeInBrowser(t *testing.T) {
	page := openTab(t)
	client, config := apiServer(t)
	dir, downloads := t.TempDir(), t.TempDir()
	formerly(t, client, filepath.Join(dir, "prod-eu.db"))
	for group, n := range map[string]int{"general": 6, "memory": 4} {
		for i := range n {
			createNode(t, client, fmt.Sprintf("%s-%d", group, i), group)
		}
	}
	clusters := filepath.Join(t.TempDir(), "clusters.yaml")
	text := fmt.Sprintf("clusters:\n- {name: prod-eu, kubeconfig: %s}\n- {name: prod-us, kubeconfig: %s}\n- {name: staging, kubeconfig: staging.yaml}\n",
		config, config)
	if err := os.WriteFile(clusters, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--config", clusters, "--dir", dir)
	until(t, "two record", func() bool {
		c := s.states(t)
		return c["prod-eu"].State == "recording" && c["prod-us"].State == "recording" && c["staging"].State == "failed"
	})

	page.do(chromedp.Navigate(s.url), chromedp.WaitVisible(chromedp.CSS(`[data-plot="prod-eu"] .nodes-line`)))
	page.has(`document.querySelector('#s-staging').textContent.includes('failed')`)
	page.has(`document.querySelector('[data-plot="prod-eu"] [role=img]').ariaLabel.includes('10 nodes now, at most 10; 0 pending pods now, at most 25; 3 scale-ups')`)
	page.shot("serve-index-light", "light", 1200, 760)
	page.shot("serve-index-phone", "dark", 390, 844)

	page.do(chromedp.EmulateViewport(1200, 900), chromedp.Click(chromedp.CSS(`#h-prod-eu a`)),
		chromedp.WaitVisible(chromedp.CSS(`.plot:not(.compact) .nodes-line`)))
	page.has(`document.querySelector('h1').textContent === 'prod-eu' && document.querySelector('#gaps').textContent.includes('no recorder was running')`)
	page.has(`document.querySelector('#steps').textContent.includes('general') && document.querySelector('#kinds').textContent.includes('Node')`)
	page.has(`/Gaps\s*1 /.test(document.querySelector('#facts').textContent)`)
	page.shot("serve-light", "light", 1200, 900)
	page.shot("serve-dark", "dark", 1200, 900)
	page.shot("serve-phone", "light", 390, 844)
	page.do(chromedp.EmulateViewport(1200, 900))

	createNode(t, client, "general-6", "general")
	pod := testPod("waiting", "")
	pod.UID = ""
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	page.has(`document.querySelector('.plot [role=img]').ariaLabel.includes('11 nodes now, at most 11; 1 pending pod now')`)

	page.do(chromedp.Focus(chromedp.CSS(`.plot [role=img]`)), chromedp.KeyEvent(kb.End))
	page.has(`document.querySelector('.readout').textContent.includes('UTC: 11 nodes, 1 pending pod')`)
	page.do(chromedp.KeyEvent(kb.Home))
	page.has(`document.querySelector('.readout').textContent.includes('UTC: ') && !document.querySelector('.readout').textContent.includes('11 nodes')`)
	page.do(chromedp.Click(chromedp.CSS(`details.data summary`)))
	page.has(`document.querySelectorAll('[data-plot-table] tbody tr').length > 5`)

	if _, err := chromedp.CallBrowser(page.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: downloads, EventsEnabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	progress := chromedp.BrowserEvents(page.ctx, browser.DownloadProgress)
	page.do(chromedp.Click(chromedp.CSS(`form.download button`)))
	downloaded := ""
	for e, err := range progress {
		if err != nil {
			t.Fatal(err)
		}
		if e.State == browser.DownloadProgressStateCanceled {
			t.Fatal("the download was cancelled")
		}
		if e.State == browser.DownloadProgressStateCompleted {
			downloaded = filepath.Join(downloads, e.GUID)
			break
		}
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := os.Rename(downloaded, copied); err != nil {
		t.Fatal(err)
	}
	page.do(chromedp.Navigate(s.url), chromedp.Click(chromedp.CSS(`.upload summary`)), chromedp.SendKeys(chromedp.CSS(`[name=name]`), "incident-42"),
		chromedp.SetUploadFiles(chromedp.CSS(`[name=file]`), []string{copied}), chromedp.Click(chromedp.CSS(`.upload button`)),
		chromedp.WaitVisible(chromedp.CSS(`.plot:not(.compact) .nodes-line`)))
	page.has(`document.querySelector('h1').textContent === 'incident-42' && document.querySelector('#state').textContent.includes('stored')`)
	if title := page.text(`document.title`); title != "incident-42 · scalehist" {
		t.Errorf("title %q", title)
	}
	page.do(chromedp.Click(chromedp.CSS(`nav[aria-label=Main] a[href="/reports"]`)), chromedp.WaitVisible(chromedp.CSS(`.empty`)))

	page.do(chromedp.Navigate("about:blank")) // it would say that the server is gone
	// Two commands in one process would share the log: the server ends first.
	if code, _, errs := s.stop(); code != console.ExitOK {
		t.Errorf("serve: exit %d, %s", code, errs)
	}
	code, out, errs := run(t, t.Context(), "inspect", copied, "-o", "json")
	if code != console.ExitOK || !strings.Contains(out, `"cluster": "prod-eu"`) || !strings.Contains(out, "no recorder was running") {
		t.Errorf("inspect of the download: exit %d, %s\n%s", code, errs, out)
	}
	page.mu.Lock()
	defer page.mu.Unlock()
	if len(page.errors) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(page.errors, "\n"))
	}
}
