package prices

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		_, err := Parse([]byte(text))
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
	_, example, _ := strings.Cut(Help, "\n\n")
	got, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	onDemand, spot, reserved := 0.214, 0.081, 0.135
	want := &Table{
		Currency: "EUR", MachineTypes: map[string]float64{"m5.large": 0.107}, NodeGroups: map[string]float64{"spot-a": 0.031},
		Pods: PodPrices{CPU: 0.033, MemoryGiB: 0.0045, GPU: 0.7}, Region: "eu-west-1",
		Models:      map[string]ByModel{"m5.xlarge": {OnDemand: &onDemand, Spot: &spot, Reserved: &reserved}},
		GroupModels: map[string]Model{"batch": Spot}, SpotLabels: []string{"example.com/lifecycle=spot"},
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
		table, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for k, v := range table.MachineTypes {
			if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%q: %s costs %v", text, k, v)
			}
		}
		for k, by := range table.Models {
			for _, m := range Models {
				if v := by.of(m); v != nil && (*v < 0 || math.IsNaN(*v) || math.IsInf(*v, 0)) {
					t.Errorf("%q: %s costs %v %s", text, k, *v, m)
				}
			}
		}
	})
}
