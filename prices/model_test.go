package prices

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const regions = `
currency: USD
lists:
  - provider: aws
    region: us-east-1
    date: 2026-01-19
    source: https://example.com/aws
    machineTypes:
      m.large: {onDemand: 0.1, spot: 0.04, reserved: 0.06}
      m.xlarge: {onDemand: 0.2}
      old: 0.3
  - {provider: gcp, region: us-central1, machineTypes: {m.large: 0.09}}
`

func TestSelect(t *testing.T) {
	f, err := ParseFile([]byte(regions))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Lists[0]; got.Source != "https://example.com/aws" || got.Date != "2026-01-19" {
		t.Errorf("list %+v: source or date lost", got)
	}
	for region, want := range map[string]string{
		"":            "it has prices of aws/us-east-1, gcp/us-central1: choose a region",
		"us-est-1":    `region "us-est-1" is not in it: choose one of aws/us-east-1, gcp/us-central1; did you mean "us-east-1"?`,
		"gcp/us-east": `region "gcp/us-east" is not in it`,
	} {
		if _, err := f.Select(Selection{Region: region}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("region %q: %v, want %q", region, err, want)
		}
	}
	for _, region := range []string{"us-central1", "gcp/us-central1"} {
		table, err := f.Select(Selection{Region: region})
		if err != nil {
			t.Fatal(err)
		}
		want := &Table{Currency: "USD", Provider: "gcp", Region: "us-central1", MachineTypes: map[string]float64{"m.large": 0.09}}
		if diff := cmp.Diff(want, table); diff != "" {
			t.Errorf("%s (-want +got):\n%s", region, diff)
		}
	}
	plain, err := ParseFile([]byte(priceFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.Select(Selection{Region: "x"}); err == nil || !strings.Contains(err.Error(), "does not say of which region") {
		t.Errorf("a region of a file without: %v", err)
	}
}

// TestPriceModels: what a node costs, by group, label and model; and what is said when that is not known.
func TestPriceModels(t *testing.T) {
	f, err := ParseFile([]byte(regions + "spotLabels: [own=yes]\nnodeGroups: {b: {model: spot}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	const large, xlarge, old = "m.large", "m.xlarge", "old"
	for name, tc := range map[string]struct {
		model   Model
		group   string
		machine string
		labels  map[string]string
		models  map[string]Model
		want    float64
		fails   string
	}{
		"default":                        {group: "a", machine: large, want: 0.1},
		"asked":                          {group: "a", machine: large, model: Reserved, want: 0.06},
		"spot by label":                  {group: "a", machine: large, labels: map[string]string{"karpenter.sh/capacity-type": "spot"}, want: 0.04},
		"a reserved fleet has spot too":  {group: "a", machine: large, model: Reserved, labels: map[string]string{"eks.amazonaws.com/capacityType": "SPOT"}, want: 0.04},
		"own label":                      {group: "a", machine: large, labels: map[string]string{"own": "yes"}, want: 0.04},
		"on-demand by label":             {group: "a", machine: large, labels: map[string]string{"karpenter.sh/capacity-type": "on-demand"}, want: 0.1},
		"spot by the file":               {group: "b", machine: large, want: 0.04},
		"flag over file":                 {group: "b", machine: large, models: map[string]Model{"b": Reserved}, want: 0.06},
		"group over label":               {group: "b", machine: large, models: map[string]Model{"b": OnDemand}, labels: map[string]string{"own": "yes"}, want: 0.1},
		"one price":                      {group: "a", machine: old, want: 0.3},
		"one price for a labelled node":  {group: "a", machine: old, labels: map[string]string{"own": "yes"}, want: 0.3},
		"one price and spot asked":       {group: "a", machine: old, model: Spot, fails: `machine type "old" has one price and no spot price in the price table of aws us-east-1, and the price model is spot`},
		"no spot price":                  {group: "b", machine: xlarge, fails: `machine type "m.xlarge" has no spot price in the price table of aws us-east-1 (only on-demand), and node group b is priced as spot`},
		"no spot price of labelled node": {group: "a", machine: xlarge, labels: map[string]string{"own": "yes"}, fails: "its node has the label own=yes"},
		"unknown":                        {group: "a", machine: "m.xlrge", fails: `machine type "m.xlrge" is not in the price table of aws us-east-1; the nearest known: m.xlarge, m.large: give it a price under machineTypes, or its node group one under nodeGroups`},
		"unknown and nothing like it":    {group: "a", machine: "zebra-9000", fails: "which has 3 machine types and none like it"},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := f.Select(Selection{Region: "us-east-1", Model: tc.model, GroupModels: tc.models})
			if err != nil {
				t.Fatal(err)
			}
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"node.kubernetes.io/instance-type": tc.machine}}}
			maps.Copy(n.Labels, tc.labels)
			got, err := table.PerHour(n, tc.group, "")
			switch {
			case tc.fails == "" && (err != nil || got != tc.want):
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			case tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)):
				t.Errorf("got %v, %v, want an error with %q", got, err, tc.fails)
			}
		})
	}
}

func TestParsePriceFileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"lists: {}":                                           "line 2: lists: want a list of regions",
		"lists: [{provider: aws}]":                            "line 2: lists[0]: region is missing",
		"lists: [{region: a, machines: {}}]":                  `line 2: lists[0]: unknown key "machines": want one of date, machineTypes, provider, region, source`,
		"lists: [{region: a}, {region: a}]":                   "region a is given twice",
		"machineTypes: {m: 1}\nlists: [{region: a}]":          "with several lists each needs its region",
		"date: yesterday":                                     `line 2: date: "yesterday" is no day such as 2026-01-31`,
		"machineTypes: {m: {}}":                               "line 2: machineTypes: m: there is no price: want onDemand, reserved, spot",
		"machineTypes: {m: {spot: cheap}}":                    "line 2: machineTypes: m: spot: want a price",
		"nodeGroups: {g: {model: lease}}":                     `line 2: nodeGroups: g: price model "lease": want on-demand, spot or reserved`,
		"nodeGroups: {g: {price: 1}}":                         `line 2: nodeGroups: g: unknown key "price": want one of model`,
		"spotLabels: a=b":                                     "line 2: spotLabels: want a list of labels",
		"spotLabels: [a]":                                     `line 2: spotLabels: want key=value such as example.com/lifecycle=spot; there is "a"`,
		"lists: [{region: a, machineTypes: {m: {spot: -1}}}]": "lists[0]: machineTypes: m: spot: -1 is not a price",
		"region: [a]":                                         "line 2: region: want a name such as eu-west-1",
	} {
		if _, err := ParseFile([]byte("currency: EUR\n" + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}
