package engines

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/remote/serve"
)

// playChosen replays two pods of a core and a gibibyte with little to do under an autoscaler of that mode.
func playChosen(t *testing.T, name, mode string, flags ...string) (*scalehist.ReplayReport, error) {
	t.Helper()
	c, err := Vertical(name, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return playPair(t, 2*time.Hour, harness.Memory, harness.WithController(c), harness.WithObjects(vpaObject(t, "web", mode)), harness.WithLoad(lightLoad))
}

// TestChosenRecommender: what a rule recommends is what the pods ask for, by the updater of the Vertical Pod Autoscaler: half of 0.2 cores, and 300 MiB.
func TestChosenRecommender(t *testing.T) {
	r, err := playChosen(t, "max-usage:margin=0.5", "Recreate")
	if err != nil {
		t.Fatal(err)
	}
	first, evicted := r.WorkloadDecisions[0], 0
	if first.Controller != "max-usage" || len(first.Resizes) == 0 || first.Resizes[0].Action != scalehist.Recommended {
		t.Fatalf("%+v", first)
	}
	c := first.Resizes[0].Containers[0]
	if c.To.Cpu().MilliValue() != 150 || c.To.Memory().Value() != 450<<20 || c.Upper.Cpu().MilliValue() != 200 {
		t.Errorf("recommended %+v", c)
	}
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Resizes {
			if s.Action == scalehist.Evicted && s.Error == "" {
				evicted++
			}
		}
	}
	if evicted != 2 {
		t.Errorf("%d pods were evicted", evicted)
	}
	if w := workloadOf(t, r, webSet); w.Evicted != 2 || w.SizedBy != "max-usage" || w.Requests[len(w.Requests)-1].CPU != 0.3 {
		t.Errorf("%d evicted, sized by %q, %+v", w.Evicted, w.SizedBy, w.Requests)
	}
}

// TestChosenOverHTTP: a recommender elsewhere does in a replay what the same one does in this process; one that fails ends it.
func TestChosenOverHTTP(t *testing.T) {
	for _, name := range []string{"max-usage", "holt-winters:season=30m,horizon=30m"} {
		recommender, err := vertical.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		api, err := serve.New(serve.Options{Recommender: recommender})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(api)
		defer server.Close()
		here, err := playChosen(t, name, "InPlaceOrRecreate")
		if err != nil {
			t.Fatal(err)
		}
		there, err := playChosen(t, "url:"+server.URL, "InPlaceOrRecreate")
		if err != nil {
			t.Fatal(err)
		}
		quantities := cmp.Comparer(func(a, b corev1.ResourceList) bool { return !differ(a, b) })
		if diff := cmp.Diff(here.WorkloadDecisions, there.WorkloadDecisions, quantities, cmpopts.IgnoreFields(scalehist.WorkloadDecision{}, "Controller")); diff != "" || len(here.WorkloadDecisions) < 2 {
			t.Errorf("%s, %d decisions (-here +over HTTP):\n%s", name, len(here.WorkloadDecisions), diff)
		}
		server.Close()
		if _, err := playChosen(t, "url:"+server.URL, "Off"); err == nil || !strings.Contains(err.Error(), "VerticalPodAutoscaler/default/web: recommender at "+server.URL) {
			t.Errorf("nobody answers: %v", err)
		}
	}
}

// TestVPAOptions: options of vpa are its flags.
func TestVPAOptions(t *testing.T) {
	byOption, err := playChosen(t, "vpa:recommendation-margin-fraction=1", "Off")
	if err != nil {
		t.Fatal(err)
	}
	byFlag, err := playChosen(t, "vpa", "Off", "--recommendation-margin-fraction=1")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := playChosen(t, "vpa", "Off")
	if err != nil {
		t.Fatal(err)
	}
	quantities := cmp.Comparer(func(a, b corev1.ResourceList) bool { return !differ(a, b) })
	if diff := cmp.Diff(byFlag.WorkloadDecisions, byOption.WorkloadDecisions, quantities); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(plain.WorkloadDecisions, byOption.WorkloadDecisions, quantities) {
		t.Error("the option changes nothing")
	}
}

// TestVerticalNames: what is wrong with a name or its options is said.
func TestVerticalNames(t *testing.T) {
	for name, want := range map[string]string{
		"max-usge": "choose one of boosted,", "max-usage:margn=1": `did you mean "margin"?`, "recorded:x=1": "recorded", "url": "want http://host:port", "vpa:nothing=1": "nothing",
	} {
		if _, err := Vertical(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", name, err, want)
		}
	}
}
