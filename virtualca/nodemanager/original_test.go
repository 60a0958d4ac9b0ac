package nodemanager_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/internal/restapi/openapitest"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

// The tests of this file are the defects of the system that these paths are from; those of its choice of clusters are in package multicluster, those of its list in
// package discovery, those of its wire in package externalgrpc.

// TestUnknownIsAnError: an unknown group has no size, no nodes, no template and no price there, all with status 200.
func TestUnknownIsAnError(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			c := client(t, b)
			_, size := c.TargetSize(t.Context(), "none")
			_, instances := c.Instances(t.Context(), "none")
			_, template := c.Template(t.Context(), "none")
			for what, err := range map[string]error{"size": size, "nodes": instances, "template": template, "increase": c.IncreaseSize(t.Context(), "none", 1),
				"decrease": c.DecreaseTargetSize(t.Context(), "none", 1), "delete": c.DeleteNodes(t.Context(), "none", []externalgrpc.Node{{Name: "x"}})} {
				if !errors.Is(err, externalgrpc.ErrNotFound) {
					t.Errorf("%s of an unknown group: %v, want not found", what, err)
				}
			}
			g, err := c.NodeGroupForNode(t.Context(), externalgrpc.Node{Name: "stranger", ProviderID: "other://stranger"})
			if err != nil || g.ID != "" {
				t.Errorf("the group of a stranger is %q, %v", g.ID, err)
			}
		})
	}
}

// TestAFailureIsNotForTheNextCall: one failed call there makes later ones do nothing, and say they did.
func TestAFailureIsNotForTheNextCall(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			c := client(t, b)
			if err := c.IncreaseSize(t.Context(), "b", 99); !errors.Is(err, externalgrpc.ErrExhausted) {
				t.Errorf("above the maximum: %v", err)
			}
			if err := c.DeleteNodes(t.Context(), "b", []externalgrpc.Node{{Name: "none"}}); !errors.Is(err, externalgrpc.ErrPrecondition) {
				t.Errorf("a node that is not there: %v", err)
			}
			if err := c.IncreaseSize(t.Context(), "b", 1); err != nil {
				t.Fatal(err)
			}
			if n, err := c.TargetSize(t.Context(), "b"); n != 1 || err != nil {
				t.Errorf("target size %d, %v: want 1", n, err)
			}
		})
	}
}

// TestDeletionIsChecked: nodes of another group are deleted there, and what fails is answered with 200.
func TestDeletionIsChecked(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			c := client(t, b)
			list, err := c.Instances(t.Context(), "a")
			if err != nil || len(list) != 2 {
				t.Fatal(list, err)
			}
			node := externalgrpc.Node{ProviderID: list[0].ID}
			if err := c.DeleteNodes(t.Context(), "b", []externalgrpc.Node{node}); !errors.Is(err, externalgrpc.ErrPrecondition) {
				t.Errorf("a node of another group: %v", err)
			}
			if n, err := c.TargetSize(t.Context(), "a"); n != 2 || err != nil {
				t.Errorf("target size %d, %v: want 2", n, err)
			}
		})
	}
}

// TestTargetSizeIsWhatWasAskedFor: it is the number of nodes there, states are always running, and a decrease does nothing.
func TestTargetSizeIsWhatWasAskedFor(t *testing.T) {
	b := borrowed(t, t.TempDir()+"/state.db") // nobody works on it: nothing comes
	c := client(t, b)
	if err := c.IncreaseSize(t.Context(), "b", 2); err != nil {
		t.Fatal(err)
	}
	list, err := c.Instances(t.Context(), "b")
	if err != nil || len(list) != 2 || list[0].State != externalgrpc.Creating {
		t.Errorf("instances %v, %v: want two that are being created", list, err)
	}
	if err := c.DecreaseTargetSize(t.Context(), "b", 1); err != nil {
		t.Fatal(err)
	}
	if n, err := c.TargetSize(t.Context(), "b"); n != 1 || err != nil {
		t.Errorf("target size %d, %v: want 1", n, err)
	}
	b.Step(t.Context())
	var size nodemanager.Size
	get(t, c, http.MethodGet, "/nodegroup/current-size?id=b", &size)
	if size != (nodemanager.Size{CurrentSize: 1, TargetSize: 1}) {
		t.Errorf("size %+v", size)
	}
}

func get(t *testing.T, c *nodemanager.Client, method, path string, into any) {
	t.Helper()
	r, err := c.API.Request(t.Context(), method, path, nil)
	if err == nil {
		err = c.API.Do(r, into)
	}
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
}

// TestPathsOfTheOriginal: its clients ask with GET and parameters alone.
func TestPathsOfTheOriginal(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			c := client(t, b)
			var groups []nodemanager.NodeGroup
			get(t, c, http.MethodGet, "/nodegroup", &groups)
			if len(groups) != 2 || groups[0].ID != "a" {
				t.Errorf("groups %v", groups)
			}
			var done nodemanager.Done
			get(t, c, http.MethodGet, "/nodegroup/scaleup?id=b&count=1", &done)
			var nodes []nodemanager.Instance
			realtest.Eventually(t, "its node does not come", func() bool {
				get(t, c, http.MethodGet, "/nodegroup/nodes?id=b", &nodes)
				return len(nodes) == 1 && nodes[0].State == "running"
			})
			get(t, c, http.MethodGet, "/nodegroup/scaledown?nodegroupid=b&id="+nodes[0].ID, &done)
			realtest.Eventually(t, "its node does not go", func() bool {
				get(t, c, http.MethodGet, "/nodegroup/nodes?id=b", &nodes)
				return len(nodes) == 0
			})
			if !done.Done || nodes == nil {
				t.Errorf("done %v, nodes %v: want an empty list", done, nodes)
			}
			var template nodemanager.Template
			get(t, c, http.MethodGet, "/nodegroup/template?id=a", &template)
			if template.NodeGroupID != "a" || template.Node.Status.Allocatable.Cpu().IsZero() {
				t.Errorf("template %+v", template)
			}
			get(t, c, http.MethodGet, "/nodegroup/destroy?id=b", &done)
			r, err := c.API.Request(t.Context(), http.MethodPost, "/nodegroup/create", nodemanager.NewGroup{NodeGroup: nodemanager.NodeGroup{ID: "c", MaxSize: 3}, Like: "a"})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.API.Do(r, nil); err != nil {
				t.Fatal(err)
			}
			get(t, c, http.MethodGet, "/nodegroup", &groups)
			if len(groups) != 2 || groups[1] != (nodemanager.NodeGroup{ID: "c", MaxSize: 3, Debug: groups[0].Debug}) {
				t.Errorf("groups %v: want a, and c once", groups)
			}
		})
	}
}

// TestPricesAreOfAPeriod: the period is ignored there, names without a pattern panic, and a pod always costs 1.
func TestPricesAreOfAPeriod(t *testing.T) {
	start := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			c := client(t, b)
			list, err := c.Instances(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			template, err := c.Template(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []externalgrpc.Node{{ProviderID: list[0].ID, Labels: template.Labels}, {Name: "no-pattern", Labels: template.Labels, Annotations: template.Annotations}} {
				one, err := c.NodePrice(t.Context(), n, start, start.Add(time.Hour))
				two, err2 := c.NodePrice(t.Context(), n, start, start.Add(2*time.Hour))
				if err != nil || err2 != nil || one <= 0 || two != 2*one {
					t.Errorf("an hour costs %v, two %v: %v, %v", one, two, err, err2)
				}
			}
			for _, q := range []string{"", "?id=x", "?id=x&from=2026-03-02T09:00:00Z&to=2026-03-01T09:00:00Z"} {
				refused(t, c, http.MethodGet, "/nodegroup/nodeprice"+q, "", http.StatusBadRequest)
			}
		})
	}
}

func refused(t *testing.T, c *nodemanager.Client, method, path, body string, want int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.API.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want || response.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s: %d, %s, %v: want a problem with %d", method, path, response.StatusCode, data, err, want)
		return
	}
	openapitest.Check(t, nodemanager.OpenAPI, "Problem", data)
}

// TestNothingIsTakenForZero: a bad count is 0 there, and a success; what has no path is an empty 200.
func TestNothingIsTakenForZero(t *testing.T) {
	c := client(t, borrowed(t, t.TempDir()+"/state.db"))
	for _, count := range []string{"", "x", "0", "-1", "1.5", "99999999999999999999"} {
		refused(t, c, http.MethodPost, "/nodegroup/scaleup?id=b&count="+count, "", http.StatusBadRequest)
	}
	refused(t, c, http.MethodPost, "/nodegroup/scaleup?id=b&count=3", "", http.StatusConflict)
	refused(t, c, http.MethodPost, "/nodegroup/scaledown?nodegroupid=b", `{"nodes": []}`, http.StatusBadRequest)
	refused(t, c, http.MethodPost, "/nodegroup/scaledown?nodegroupid=b", `{"node": []}`, http.StatusBadRequest)
	refused(t, c, http.MethodPost, "/nodegroup/create", `{"id": "c", "maxSize": -1, "like": "a"}`, http.StatusBadRequest)
	refused(t, c, http.MethodGet, "/nodegroup/ownership", "", http.StatusBadRequest)
	refused(t, c, http.MethodGet, "/nodegroup/elsewhere", "", http.StatusNotFound)
	refused(t, c, http.MethodDelete, "/nodegroup", "", http.StatusMethodNotAllowed)
	r, err := c.API.Request(t.Context(), http.MethodGet, "/nodegroup/scaleup?id=b&count=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if err := c.API.Do(r, nil); err == nil || !strings.Contains(err.Error(), "another origin") {
		t.Errorf("a page of another origin changes something: %v", err)
	}
}

// TestAChangeIsMadeOnce: an answer that is lost is asked for again, and nothing is asked for twice.
func TestAChangeIsMadeOnce(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			app := nodemanager.NewServer(b, restapi.Gate{})
			lost := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "scaleup") && lost < 2 {
					lost++
					app.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
				app.ServeHTTP(w, r)
			}))
			defer s.Close()
			c := &nodemanager.Client{API: restapi.Client{HTTP: http.DefaultClient, Base: s.URL}, Clock: clock.RealClock{}}
			if err := c.IncreaseSize(t.Context(), "b", 1); err != nil {
				t.Fatal(err)
			}
			if n, err := c.TargetSize(t.Context(), "b"); n != 1 || err != nil || lost != 2 {
				t.Errorf("%d answers were lost, and the target size is %d, %v: want 1", lost, n, err)
			}
		})
	}
}

// TestNobodyAnswers: it is unavailable, soon.
func TestNobodyAnswers(t *testing.T) {
	c := &nodemanager.Client{API: restapi.Client{HTTP: http.DefaultClient, Base: "http://127.0.0.1:1"}, Clock: clock.RealClock{}, Patience: 60 * time.Millisecond}
	if _, err := c.NodeGroups(t.Context()); !errors.Is(err, externalgrpc.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
