package contract

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

// Now is the start of virtual time a new control plane must have.
var Now = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// Run runs the suite. start returns a new, empty control plane at time Now; Run closes it.
func Run(t *testing.T, start func(t *testing.T) kvcl.ControlPlane) {
	boot := func(t *testing.T) kvcl.ControlPlane {
		cp := start(t)
		t.Cleanup(func() {
			if err := cp.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := cp.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
		return cp
	}
	t.Run("Cases", func(t *testing.T) {
		s := &suite{cp: boot(t), now: Now}
		for _, c := range cases {
			ok := t.Run(c.name, func(t *testing.T) {
				s.t = t
				c.run(s)
				s.clean()
			})
			if !ok && s.broken {
				t.Fatal("the control plane could not be cleaned; the other cases were not run")
			}
		}
	})
	t.Run("Determinism", func(t *testing.T) { determinism(t, boot) })
}

// testCase is one behaviour. It finds an empty cluster.
type testCase struct {
	name string
	run  func(s *suite)
}

var cases = []testCase{
	{"PlacesPodsInOrder", placesPodsInOrder},
	{"SaysWhyAPodIsUnschedulable", saysWhy},
	{"ScalesFromZeroNodes", scalesFromZero},
	{"RetriesWhenANodeJoins", retriesWhenANodeJoins},
	{"TriesAPodOnceUntilSomethingHelps", triesOnce},
	{"KeepsGatedPodsOut", keepsGatedPodsOut},
	{"SchedulesByPriority", schedulesByPriority},
	{"Preempts", preempts},
	{"PreemptsTheYoungestNode", preemptsTheYoungest},
	{"RespectsTaints", respectsTaints},
	{"KeepsPodsOffCordonedNodes", cordons},
	{"SpreadsOverZones", spreads},
	{"EvictsWithinBudgets", evicts},
	{"AddsBoundPods", addsBoundPods},
	{"DeletesPodsAtOnce", deletes},
	{"UpdatesObjects", updates},
	{"KeepsUIDsAndTimes", keepsUIDsAndTimes},
	{"KeepsOrder", keepsOrder},
	{"ReusesNames", reusesNames},
	{"RefusesInvalidObjects", refusesInvalid},
	{"ResolvesPriorityClasses", resolvesPriority},
	{"BindsVolumesForFirstConsumer", bindsVolumes},
	{"ChoosesStaticVolumes", choosesStaticVolumes},
	{"NeedsBoundClaims", needsBoundClaims},
	{"NamesMissingClaims", namesMissingClaims},
	{"KeepsPodsWithTheirVolumes", keepsPodsWithTheirVolumes},
	{"FollowsZoneLabels", followsZoneLabels},
	{"CountsVolumes", countsVolumes},
	{"CountsMigratedVolumes", countsMigratedVolumes},
	{"CountsNoVolumesWithoutCSINode", countsNoVolumesWithoutCSINode},
	{"SharesNoExclusiveClaims", sharesNoExclusiveClaims},
	{"KeepsNodeLocalVolumes", keepsNodeLocalVolumes},
	{"KeepsToAllowedTopologies", keepsToAllowedTopologies},
	{"WaitsForEphemeralClaims", waitsForEphemeralClaims},
	{"PreemptsWithFewestViolations", preemptsWithFewestViolations},
	{"PreemptsTheLeastImportant", preemptsTheLeastImportant},
	{"PreemptsTheLowestSum", preemptsTheLowestSum},
	{"PreemptsTheFewest", preemptsTheFewest},
	{"PreemptsOnlyWhoMustGo", preemptsOnlyWhoMustGo},
	{"PreemptsInTurn", preemptsInTurn},
	{"SaysWhyPreemptionDoesNotHelp", saysWhyPreemptionDoesNotHelp},
	{"KeepsNominations", keepsNominations},
	{"PreemptsForPorts", preemptsForPorts},
	{"VictimsTerminate", victimsTerminate},
	{"NodesWakeWhoFits", nodesWakeWhoFits},
	{"TaintsWakeWhoWaitedForThem", taintsWakeWhoWaitedForThem},
	{"UncordonedNodesWakeWhoFits", uncordonedNodesWakeWhoFits},
	{"PodsThatGoWakeWhoNeedsTheirRoom", podsThatGoWakeWhoNeedsTheirRoom},
	{"LabelsOfPodsWakeWhoAvoidsThem", labelsOfPodsWakeWhoAvoidsThem},
	{"OwnUpdatesWakeAPod", ownUpdatesWakeAPod},
	{"ResizesWakeWhoNeedsTheRoom", resizesWakeWhoNeedsTheRoom},
	{"SpreadsWakeWhoBalances", spreadsWakeWhoBalances},
	{"PortsWakeWhoNeedsThem", portsWakeWhoNeedsThem},
	{"GatesWakeOnlyWhoIsFree", gatesWakeOnlyWhoIsFree},
	{"RefusesUnsupportedPods", refusesUnsupportedPods},
	{"RetriesWhatNoEventWoke", retriesWhatNoEventWoke},
	{"RefreshesMessages", refreshesMessages},
	{"KeepsEveryKind", keepsEveryKind},
	{"CreatesNamespaces", createsNamespaces},
	{"NeverGoesBack", neverGoesBack},
	{"SchedulesAThousandPods", schedulesAThousand},
}

// suite is a control plane and where its clock stands.
type suite struct {
	t      *testing.T
	cp     kvcl.ControlPlane
	now    time.Time
	broken bool
}

func (s *suite) apply(op scalehist.Op, objects ...scalehist.Object) {
	s.t.Helper()
	if err := s.try(op, objects...); err != nil {
		s.t.Fatalf("Apply: %v", err)
	}
}

func (s *suite) try(op scalehist.Op, objects ...scalehist.Object) error {
	changes := make([]scalehist.Change, len(objects))
	for i, o := range objects {
		changes[i] = scalehist.Change{At: s.now, Op: op, Object: o}
	}
	return s.cp.Apply(s.t.Context(), changes)
}

func (s *suite) add(objects ...scalehist.Object) { s.t.Helper(); s.apply(scalehist.OpAdd, objects...) }

// settle moves the clock on by a second.
func (s *suite) settle() kvcl.Settled {
	s.t.Helper()
	s.now = s.now.Add(time.Second)
	got, err := s.cp.Settle(s.t.Context(), s.now)
	if err != nil {
		s.t.Fatalf("Settle: %v", err)
	}
	return got
}

// later moves the clock without settling.
func (s *suite) later(d time.Duration) { s.now = s.now.Add(d) }

func (s *suite) wantSettled(want kvcl.Settled) {
	s.t.Helper()
	s.equal("Settled", want, s.settle())
}

func (s *suite) equal(what string, want, got any) {
	s.t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// placements are "pod node" of every pod, in creation order, "-" for none.
func (s *suite) placements() []string {
	var out []string
	for _, p := range s.cp.Objects().Pods {
		node := p.Spec.NodeName
		if node == "" {
			node = "-"
		}
		out = append(out, p.Name+" "+node)
	}
	return out
}

func (s *suite) pod(namespace, name string) *corev1.Pod {
	s.t.Helper()
	for _, p := range s.cp.Objects().Pods {
		if p.Namespace == namespace && p.Name == name {
			return p
		}
	}
	s.t.Fatalf("no pod %s/%s in Cluster", namespace, name)
	return nil
}

// clean removes everything, dependents first.
func (s *suite) clean() {
	s.t.Helper()
	s.broken = true
	o := s.cp.Objects()
	var objects []scalehist.Object
	for _, p := range o.Pods {
		objects = append(objects, p)
	}
	for _, n := range o.Nodes {
		objects = append(objects, n)
	}
	w := o.Workloads()
	for _, rc := range o.RuntimeClasses {
		objects = append(objects, rc)
	}
	for i := len(w) - 1; i >= 0; i-- {
		objects = append(objects, w[i])
	}
	s.apply(scalehist.OpDelete, objects...)
	s.wantSettled(kvcl.Settled{})
	if left := s.cp.Objects().All(); len(left) > 0 {
		s.t.Fatalf("%d objects left after deleting all, first %T %s", len(left), left[0], left[0].GetName())
	}
	s.broken = false
}

func (s *suite) wantError(err error, parts ...string) {
	s.t.Helper()
	if err == nil {
		s.t.Fatalf("no error; want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			s.t.Errorf("error %q does not say %q", err, p)
		}
	}
}
