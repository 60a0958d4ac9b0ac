package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recommender/api"
)

const stdPrices = "currency: EUR\nmachineTypes: {std-2: 0.10, std-8: 0.35}\n"

// recommended runs recommend and gives what it prints, which must be without an error.
func recommended(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, t.Context(), append([]string{"recommend"}, args...)...)
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	return stdout
}

// startRecommender runs `recommender serve` until stop is called, or the test ends.
func startRecommender(t *testing.T, args ...string) *serving {
	t.Helper()
	return startServer(t, append([]string{"recommender", "serve", "--listen", "127.0.0.1:0"}, args...)...)
}

// startServer runs a command that serves until stop is called, or the test ends.
func startServer(t *testing.T, args ...string) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // the test's own ends before its cleanups
	ready := make(chan struct{})
	var out bytes.Buffer
	errs := &waitingBuffer{text: "Ctrl-C stops", found: func() { close(ready) }}
	done := make(chan int, 1)
	go func() {
		done <- Execute(ctx, args, console.IO{Out: &out, Err: errs})
	}()
	select {
	case <-ready:
	case code := <-done:
		cancel()
		t.Fatalf("%s ended with %d: %s", args[0], code, errs)
	}
	stopped := false
	s := &serving{url: servedAt.FindStringSubmatch(errs.String())[1], stop: func() (int, string, string) {
		stopped = true
		cancel()
		return <-done, out.String(), errs.String()
	}}
	t.Cleanup(func() {
		if !stopped {
			s.stop()
		}
	})
	return s
}

// TestRecommendSameAnswer: from a history, from the request that it is, from a server, and asked by curl, the answer is the
// same; 20 times.
//
//scalehist:unraced
func TestRecommendSameAnswer(t *testing.T) {
	prices := written(t, "prices.yaml", []byte(stdPrices))
	from := []string{"--history", fixture("two-machine-sizes"), "--at", "+26s", "--prices", prices, "--scale-down"}
	want := recommended(t, append(from, "-o", "json")...)
	var answer api.Response
	if err := json.Unmarshal([]byte(want), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Recommendation.ScaleUps) == 0 || answer.Run != nil {
		t.Fatalf("nothing to compare, or a run time: %s", want)
	}
	request := recommended(t, append(from, "-o", "request")...)
	file := written(t, "request.json", []byte(request))
	server := startRecommender(t)
	for range 20 {
		for _, args := range [][]string{{"--snapshot", file}, {"--snapshot", file, "--server", server.url}, append([]string{"--server", server.url}, from...)} {
			if diff := cmp.Diff(want, recommended(t, append(args, "-o", "json")...)); diff != "" {
				t.Fatalf("%v (-from the history +so):\n%s", args, diff)
			}
		}
	}
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+api.PathRecommend, strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl does
	response, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if cerr := response.Body.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
	var asked api.Response
	if err := json.Unmarshal(body, &asked); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	asked.Run = nil
	if diff := cmp.Diff(answer, asked); diff != "" {
		t.Errorf("asked by curl (-recommend +curl):\n%s", diff)
	}
	if code, stdout, stderr := server.stop(); code != console.ExitOK || stdout != "" {
		t.Errorf("after Ctrl-C: exit %d, printed %q, error %q; want 0", code, stdout, stderr)
	}
}

func TestRecommendText(t *testing.T) {
	prices := written(t, "prices.yaml", []byte(stdPrices))
	if got := recommended(t, "--history", fixture("two-machine-sizes"), "--at", "+26s", "--max-nodes-total", "2"); !strings.Contains(got, "max nodes total 2 reached") {
		t.Errorf("--max-nodes-total 2:\n%s", got)
	}
	got := recommended(t, "--history", fixture("two-machine-sizes"), "--at", "+26s", "--prices", prices, "--scale-down", "--utilization-threshold", "1")
	for _, want := range []string{"strategy greedy, scoring least-cost\n", "\nScale up\nNODE GROUP  ZONE  MACHINE TYPE  FROM  TO  PRICE PER HOUR\n", "\nNew nodes\nNODE ", "Cost per hour: ", "Optimality: new nodes cost ", "\nUnremovable\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// TestRecommendFromReport: decisions are made again from the snapshots of a report with whole objects.
func TestRecommendFromReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	replay := []string{"replay", fixture("two-machine-sizes"), "--control-plane", "memory", "--for", "26s", "--report-dir", dir}
	code, _, stderr := run(t, t.Context(), append(replay, "--full-snapshots")...)
	if code == console.ExitFailed {
		t.Fatal(stderr)
	}
	for _, moment := range []string{"start", "end"} {
		var got api.Response
		if err := json.Unmarshal([]byte(recommended(t, "--report", dir, "--moment", moment, "-o", "json")), &got); err != nil {
			t.Fatal(err)
		}
		if got.Recommendation.Strategy != "greedy" {
			t.Errorf("%s: %+v", moment, got)
		}
	}
	code, _, stderr = run(t, t.Context(), "recommend", "--snapshot", filepath.Join(dir, "report.json"))
	if code != console.ExitFailed || !strings.Contains(stderr, "is a whole report: give it with --report") {
		t.Errorf("a report as a snapshot: exit %d, %s", code, stderr)
	}
	// The snapshot by itself, as jq .end takes it out.
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		End json.RawMessage `json:"end"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recommended(t, "--report", dir), recommended(t, "--snapshot", written(t, "end.json", report.End))); diff != "" {
		t.Errorf("the snapshot by itself (-report +snapshot):\n%s", diff)
	}
	code, _, stderr = run(t, t.Context(), replay...)
	if code == console.ExitFailed {
		t.Fatal(stderr)
	}
	code, _, stderr = run(t, t.Context(), "recommend", "--report", dir)
	if code != console.ExitFailed || !strings.Contains(stderr, "--full-snapshots") {
		t.Errorf("a report with summaries: exit %d, %s", code, stderr)
	}
}

func TestRecommendErrors(t *testing.T) {
	db := fixture("two-machine-sizes")
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "give one of --snapshot, --history and --report: see 'scalehist recommend --help'"},
		{"two", []string{"--history", db, "--report", "x"}, "give one of"},
		{"format", []string{"--history", db, "-o", "yaml"}, "must be text, json or request"},
		{"at", []string{"--snapshot", "x", "--at", "+1s"}, "--at goes with --history and --report"},
		{"at and moment", []string{"--report", "x", "--at", "+1s", "--moment", "end"}, "give --at or --moment, not both"},
		{"outside", []string{"--history", db, "--at", "+9h"}, "--at: time +9h"},
		{"moment", []string{"--report", "x", "--moment", "middle"}, `--moment "middle": want start or end`},
		{"strategy", []string{"--history", db, "--strategy", "best"}, `--strategy "best": choose one of greedy, optimal`},
		{"scoring", []string{"--history", db, "--scoring", "best"}, `--scoring "best": choose one of`},
		{"no prices", []string{"--history", db, "--scoring", "least-cost"}, "needs prices"},
		{"weights", []string{"--history", db, "--weights", "cpu"}, "--weights: "},
		{"threshold", []string{"--history", db, "--scale-down", "--utilization-threshold", "2"}, "want 0 to 1"},
		{"max nodes", []string{"--history", db, "--max-nodes-total", "-1"}, "--max-nodes-total must not be negative"},
		{"threshold alone", []string{"--history", db, "--utilization-threshold", "0.7"}, "goes with --scale-down"},
		{"unknown price", []string{"--history", db, "--prices", written(t, "p.yaml", []byte("currency: EUR\nmachineTypes: {std-2: 1}\n"))}, "std-8"},
		{"no file", []string{"--snapshot", "no/such.json"}, "--snapshot: open no/such.json"},
		{"no JSON", []string{"--snapshot", written(t, "x.json", []byte("hello"))}, "it is not JSON, in line 1"},
		{"no request", []string{"--snapshot", written(t, "x.json", []byte("{}"))}, "apiVersion: it is missing"},
		{"key", []string{"--snapshot", written(t, "x.json", []byte(`{"apiVersion":"recommender.scalehist.io/v1","nodegroups":[]}`))}, "nodegroups: the key is not known"},
		{"token without a server", []string{"--history", db, "--token-file", "x"}, "--token-file goes with --server"},
		{"no server", []string{"--history", db, "--server", "localhost:80"}, "want http://host:port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"recommend"}, c.args...)...)
			if code != console.ExitFailed || !strings.Contains(stderr, c.want) || stdout != "" {
				t.Errorf("exit %d, printed %q, error %q; want an error with %q", code, stdout, stderr, c.want)
			}
		})
	}
}

func TestRecommenderServeErrors(t *testing.T) {
	token := written(t, "token", []byte("a-token-that-is-long-enough"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "nowhere"}, "--listen nowhere"},
		{[]string{"--listen", "0.0.0.0:0"}, "is reached by others: give --token-file or --client-ca"},
		{[]string{"--tls-cert", "x"}, "give both"},
		{[]string{"--client-ca", "x"}, "need TLS"},
		{[]string{"--insecure-no-auth", "--token-file", token}, "contradicts"},
		{[]string{"--max-body", "much"}, "write a size such as 64Mi"},
		{[]string{"--max-concurrent", "0"}, "must be more than 0"},
		{[]string{"--timeout", "0s"}, "must be more than 0"},
		{[]string{"--token-file", "no/such"}, "no/such"},
		{[]string{"--tls-cert", "no/such", "--tls-key", "no/such"}, "no/such"},
		{[]string{"--region", "r"}, "--region goes with --prices"},
	} {
		code, stdout, stderr := run(t, t.Context(), append([]string{"recommender", "serve"}, c.args...)...)
		if code != console.ExitFailed || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%v: exit %d, printed %q, error %q; want an error with %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

// TestRecommenderServeForOthers: with tokens and prices of its own, and a client that has a token.
func TestRecommenderServeForOthers(t *testing.T) {
	token := written(t, "token", []byte("a-token-that-is-long-enough\n"))
	server := startRecommender(t, "--token-file", token, "--prices", written(t, "prices.yaml", []byte(stdPrices)), "--max-concurrent", "1", "--timeout", "30s")
	args := []string{"recommend", "--history", fixture("two-machine-sizes"), "--at", "+26s", "--server", server.url}
	if code, _, stderr := run(t, t.Context(), args...); code != console.ExitFailed || !strings.Contains(stderr, "401 token: the token is missing or wrong") {
		t.Errorf("without the token: exit %d, %s", code, stderr)
	}
	code, stdout, stderr := run(t, t.Context(), append(args, "--token-file", token)...)
	if code != console.ExitOK || !strings.Contains(stdout, "scoring least-cost") {
		t.Errorf("with the token: exit %d, %s%s", code, stdout, stderr)
	}
}
