package env

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

// served is a server of two workloads: one that is constant, and one that changes.
func served(t *testing.T) *httptest.Server {
	t.Helper()
	flat, wave := [][2]int64{}, [][2]int64{}
	for i := range int64(60) {
		flat, wave = append(flat, [2]int64{100, 200}), append(wave, [2]int64{100 + 10*(i%7), 200 + 50*(i%11)})
	}
	s := httptest.NewServer(NewServer([]Workload{{"Deployment/shop/flat", one(flat...).Containers, time.Minute, time.Time{}}, {"Deployment/shop/wave", one(wave...).Containers, time.Minute, time.Time{}}}).Handler())
	t.Cleanup(s.Close)
	return s
}

// ask sends a request and reads the answer.
func ask(t *testing.T, s *httptest.Server, method, path, body string, into any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := s.Client().Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return answer.StatusCode
}

// TestServer: what is stepped over HTTP is what is stepped here.
func TestServer(t *testing.T) {
	s := served(t)
	var m Made
	if code := ask(t, s, "POST", "/v1/envs", `{"workloads": ["Deployment/shop/wave"], "number": 2, "reward": "slack", "randomStart": true}`, &m); code != http.StatusOK {
		t.Fatal(code)
	}
	if diff := cmp.Diff(Made{ID: 1, Number: 2, Containers: []string{"app"}, Observed: []float64{800000, 100000, 800000, 100000},
		Acted: []float64{800000, 100000, 800000, 100000, 800000, 100000}}, m); diff != "" {
		t.Error(diff)
	}
	configs := func() []Config {
		var usage [][2]int64
		for i := range int64(60) {
			usage = append(usage, [2]int64{100 + 10*(i%7), 200 + 50*(i%11)})
		}
		c := one(usage...)
		c.Reward, c.RandomStart = parts["slack"], true
		return []Config{c}
	}()
	here, err := NewVector(configs, 2)
	if err != nil {
		t.Fatal(err)
	}
	var reset struct{ Observations [][]float64 }
	ask(t, s, "POST", "/v1/envs/1/reset", `{"seed": 5}`, &reset)
	if diff := cmp.Diff(here.Reset(5), reset.Observations); diff != "" {
		t.Error(diff)
	}
	for range 80 {
		actions := [][]float64{{10, 10, 200, 300, 400, 400}, {0, 0, 100, 200, 150, 900}}
		body, err := json.Marshal(map[string]any{"actions": actions})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Results []Result }
		if code := ask(t, s, "POST", "/v1/envs/1/step", string(body), &got); code != http.StatusOK {
			t.Fatal(code)
		}
		want, err := here.Step(actions)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Results); diff != "" {
			t.Fatal(diff)
		}
	}
	var list struct {
		Workloads []struct {
			Name  string
			Steps int
		}
	}
	if ask(t, s, "GET", "/v1/workloads", "", &list); len(list.Workloads) != 2 || list.Workloads[1].Name != "Deployment/shop/wave" || list.Workloads[1].Steps != 60 {
		t.Errorf("%+v", list)
	}
}

// TestServerRefuses: wrong requests, with what is wrong; and pages of other names.
func TestServerRefuses(t *testing.T) {
	s := served(t)
	var m Made
	ask(t, s, "POST", "/v1/envs", `{}`, &m)
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", "/v1/envs", `{"workloads": ["none"]}`, 400, "GET /v1/workloads"},
		{"POST", "/v1/envs", `{"number": 5000}`, 400, "1 to 1024"},
		{"POST", "/v1/envs", `{"reward": "much"}`, 400, "choose constant"},
		{"POST", "/v1/envs", `{"updater": "mine"}`, 400, "choose upstream"},
		{"POST", "/v1/envs", `{"nmber": 5}`, 400, "nmber"},
		{"POST", "/v1/envs/9/reset", `{}`, 404, "not there"},
		{"POST", "/v1/envs/x/step", `{}`, 404, "not there"},
		{"POST", "/v1/envs/1/step", `{"actions": [[1,2,3,4,5,6]]}`, 400, "1 actions for 2"},
		{"POST", "/v1/envs/1/step", `{"actions": [[6,5,4,3,2,1],[1,2,3,4,5,6]]}`, 400, "environment 0"},
		{"POST", "/v1/envs/1/step", `{"actions": `, 400, "no such JSON"},
		{"GET", "/v1/nothing", "", 404, "Not Found"},
		{"PUT", "/v1/envs", "", 405, "Not Allowed"},
	} {
		var got struct{ Error string }
		if code := ask(t, s, c.method, c.path, c.body, &got); code != c.code || !strings.Contains(got.Error, c.want) {
			t.Errorf("%s %s %s: %d %q, want %d %q", c.method, c.path, c.body, code, got.Error, c.code, c.want)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/v1/workloads", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example"
	if answer, err := s.Client().Do(request); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Error("another name is served")
	} else if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	answer, err := s.Client().Post(s.URL+"/v1/envs", "text/plain", strings.NewReader("{}"))
	if err != nil || answer.StatusCode != http.StatusUnsupportedMediaType {
		t.Error("what does not say that it is JSON is served")
	} else if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	for range maxSets - 1 {
		ask(t, s, "POST", "/v1/envs", `{}`, &m)
	}
	var got struct{ Error string }
	if code := ask(t, s, "POST", "/v1/envs", `{}`, &got); code != 503 {
		t.Errorf("set %d: %d", maxSets+1, code)
	}
	ask(t, s, "DELETE", "/v1/envs/7", "", &got)
	if code := ask(t, s, "POST", "/v1/envs", `{}`, &m); code != 200 {
		t.Errorf("after one was deleted: %d", code)
	}
}

// TestServerAtOnce: sets that step at the same time do not disturb each other.
func TestServerAtOnce(t *testing.T) {
	s := served(t)
	rewards := make([]string, 8)
	var wait sync.WaitGroup
	for i := range rewards {
		wait.Go(func() {
			var m Made
			ask(t, s, "POST", "/v1/envs", `{"workloads": ["Deployment/shop/wave"]}`, &m)
			for range 20 {
				var got struct{ Results []Result }
				ask(t, s, "POST", fmt.Sprintf("/v1/envs/%d/step", m.ID), `{"actions": [[10,10,200,300,400,400]]}`, &got)
				rewards[i] += fmt.Sprint(got.Results[0].Reward, " ")
			}
		})
	}
	wait.Wait()
	for _, r := range rewards {
		if r != rewards[0] {
			t.Errorf("rewards %s and %s", r, rewards[0])
		}
	}
}

// TestPython: the client runs an episode, twice the same; with Gymnasium where it is installed, which checks it.
func TestPython(t *testing.T) {
	python := realtest.Python(t)
	client := filepath.Join("..", "..", "..", "examples", "vertical-env-python", "scalehist_env.py")
	s := served(t)
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), python, append([]string{"-B", client, s.URL}, args...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, errs.String())
		}
		return out.String()
	}
	first := run()
	if !regexp.MustCompile(`^steps 59, reward -\d+\.\d+, recreated \d+, OOMs 0\n$`).MatchString(first) {
		t.Errorf("the client says %q", first)
	}
	if again := run(); again != first {
		t.Errorf("another time %q", again)
	}
	t.Run("Gymnasium", func(t *testing.T) {
		if exec.CommandContext(t.Context(), python, "-c", "import gymnasium").Run() != nil {
			t.Skip("Gymnasium is not installed, so its checker did not look at the client: pip install gymnasium")
		}
		run("--check")
	})
}
