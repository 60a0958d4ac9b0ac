package cloudprovider

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const priceFile = `
currency: EUR
machineTypes:
  m.xlarge: 0.2
nodeGroups:
  a: 0.05
pods:
  cpu: 0.03
  memoryGiB: 0.004
  gpu: 0.7
`

func TestPrices(t *testing.T) {
	table, err := ParsePrices([]byte(priceFile))
	if err != nil {
		t.Fatal(err)
	}
	p := provider(t, Options{Prices: table})
	b := template()
	b.Name = "n"
	if got, err := p.NodePrice(b, start, start.Add(90*time.Minute)); err != nil || math.Abs(got-0.3) > 1e-12 {
		t.Errorf("by machine type: got %v %v, want 0.3", got, err)
	}
	if got, err := p.NodePrice(existing("x", "a"), start, start.Add(time.Hour)); err != nil || got != 0.05 {
		t.Errorf("by node group: got %v %v, want 0.05", got, err)
	}
	if _, err := p.NodePrice(existing("y", "b"), start, start.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), `machine type "" is not in the price table`) {
		t.Errorf("unknown: got %v, want an error", err)
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("2Gi"), "nvidia.com/gpu": resource.MustParse("1"),
	}}}}}}
	if got, err := p.PodPrice(pod, start, start.Add(2*time.Hour)); err != nil || math.Abs(got-2*(0.015+0.008+0.7)) > 1e-12 {
		t.Errorf("pod: got %v %v", got, err)
	}
	if _, err := provider(t, Options{}).NodePrice(b, start, start); err == nil {
		t.Error("without a table: want an error")
	}
}

func TestParsePricesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                              "currency is missing",
		"currency: EUR\nmachines: {}":                   `line 2: unknown key "machines": want one of currency, date, lists, machineTypes, nodeGroups, pods, provider, region, source, spotLabels`,
		"machineTypes: {a: 1}":                          "currency is missing",
		"currency: EUR\nmachineTypes:\n  a: -1":         "line 3: machineTypes: a: -1 is not a price",
		"currency: EUR\npods: {gpu: -2}":                "line 2: pods: gpu: -2 is not a price",
		"currency: EUR\npods: {memory: 2}":              `line 2: pods: unknown key "memory": want one of cpu, gpu, memoryGiB`,
		"currency: EUR\nmachineTypes: {a: cheap}":       `line 2: machineTypes: a: want a price, a number without currency such as 0.107; there is "cheap"`,
		"currency: EUR\nmachineTypes: {a: \"1\"}":       "want a price",
		"currency: EUR\nmachineTypes: {a: {b: 1}}":      `line 2: machineTypes: a: unknown key "b": want one of onDemand, reserved, spot; or write one price`,
		"currency: EUR\nmachineTypes: {a: .inf}":        "a: .inf is not a price",
		"currency: EUR\nmachineTypes: {a: 1, a: 2}":     `line 2: machineTypes: "a" is given twice`,
		"currency: EUR\nmachineTypes: [1]":              `line 2: machineTypes: want "name: value" lines; there is a list`,
		"- 1":                                           "line 1: the file: want",
		"currency: [EUR]":                               "currency: want a name",
		"currency: EUR\n\tmachineTypes: {}":             "this is not YAML: ",
		"currency: EUR\nmachineTypes:\n m: 1\n  n: 2\n": "this is not YAML: line",
	} {
		_, err := ParsePrices([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
			continue
		}
		for _, leak := range []string{"Go ", "struct", "unmarshal", "JSON", "float64", "yaml:"} {
			if strings.Contains(err.Error(), leak) {
				t.Errorf("%q: %v: want no words of the library", text, err)
			}
		}
	}
}

// TestPriceTableHelp: the example in the help is a price file.
func TestPriceTableHelp(t *testing.T) {
	_, example, _ := strings.Cut(PriceTableHelp, "\n\n")
	got, err := ParsePrices([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	onDemand, spot, reserved := 0.214, 0.081, 0.135
	want := &PriceTable{
		Currency: "EUR", MachineTypes: map[string]float64{"m5.large": 0.107}, NodeGroups: map[string]float64{"spot-a": 0.031},
		Pods: PodPrices{CPU: 0.033, MemoryGiB: 0.0045, GPU: 0.7}, Region: "eu-west-1",
		Models:      map[string]ModelPrices{"m5.xlarge": {OnDemand: &onDemand, Spot: &spot, Reserved: &reserved}},
		GroupModels: map[string]PriceModel{"batch": Spot}, SpotLabels: []string{"example.com/lifecycle=spot"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzParsePrices: any text gives a table of real prices or an error.
func FuzzParsePrices(f *testing.F) {
	f.Add(priceFile)
	f.Add("currency: x\nmachineTypes: {a: 1e999}")
	f.Add("- 1")
	f.Add("currency: x\nlists:\n- {region: r, machineTypes: {a: {spot: 1}}}")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ParsePrices([]byte(text))
		if err != nil {
			return
		}
		for k, v := range table.MachineTypes {
			if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%q: %s costs %v", text, k, v)
			}
		}
		for k, prices := range table.Models {
			for _, m := range PriceModels {
				if v := prices.of(m); v != nil && (*v < 0 || math.IsNaN(*v) || math.IsInf(*v, 0)) {
					t.Errorf("%q: %s costs %v %s", text, k, *v, m)
				}
			}
		}
	})
}
