package redact

import (
	"regexp"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/prices"
)

// openMachine says whether a machine type is one that a public cloud sells: prices and templates go by them. Types of one's own
// are names. Those that the shipped prices do not list are known by how clouds make such names, families included.
func openMachine(s string) bool { return machineForm.MatchString(s) || pricedMachines()[s] }

var machineForm = regexp.MustCompile(`^(?:` + strings.Join([]string{
	// AWS: m5.large, c6gn.16xlarge, u-6tb1.metal
	`(?:a|c|d|dl|f|g|gr|h|hpc|i|im|is|inf|m|mac|p|r|t|trn|vt|x|z)\d[abdefginz]{0,3}(?:-flex)?\.(?:nano|micro|small|medium|large|\d{0,3}xlarge|metal(?:-\d{1,2}xl)?)`,
	`u-\d{1,2}tb\d\.(?:\d{1,3}xlarge|metal)`,
	// Google: n2-standard-8, a2-highgpu-1g, e2-custom-4-8192
	`(?:a2|a3|a4|c2|c2d|c3|c3d|c4|c4a|c4d|e2|f1|g1|g2|g4|h3|h4d|m1|m2|m3|m4|n1|n2|n2d|n4|t2a|t2d|x4|z3)-(?:standard|highmem|highcpu|micro|small|medium|` +
		`megagpu|highgpu|ultragpu|edgegpu|maxgpu|ultramem|megamem|hypermem|highlssd|standardlssd)(?:-\d{1,4}g?)?(?:-lssd|-metal)?`,
	`(?:[acemn]\d[a-d]?-)?custom-\d{1,3}-\d{3,7}(?:-ext)?`,
	// Azure: Standard_D4s_v5, Standard_NC24ads_A100_v4
	`(?:Standard|Basic)_(?:A|B|D|DC|DS|E|EC|ES|F|FX|G|GS|H|HB|HC|HX|L|LS|M|NC|ND|NG|NP|NV)\d{1,3}(?:-\d{1,3})?[abdeilmprst]{0,5}` +
		`(?:_(?:A10|A100|H100|H200|T4|V620|MI300X))?(?:_v\d{1,2})?`,
}, "|") + `)$`)

// pricedMachines are the machine types of the shipped price lists.
var pricedMachines = sync.OnceValue(func() map[string]bool {
	var file struct {
		Lists []struct {
			MachineTypes map[string]any `json:"machineTypes"`
		} `json:"lists"`
	}
	if err := yaml.Unmarshal(prices.Public(), &file); err != nil {
		panic("shipped prices: " + err.Error()) // it is embedded, and tests read it
	}
	out := map[string]bool{}
	for _, l := range file.Lists {
		for name := range l.MachineTypes {
			out[name] = true
		}
	}
	return out
})

// openValues are the values that stay, by label key: what kind of machine it is.
var openValues = map[string]func(string) bool{}

func init() {
	only := func(list string) func(string) bool {
		known := words(list)
		return func(s string) bool { return known[s] }
	}
	system, architecture := only(`linux windows darwin`), only(`amd64 arm64 arm 386 ppc64le s390x riscv64`)
	capacity, accelerator := only(`on-demand spot reserved ON_DEMAND SPOT CAPACITY_BLOCK`), acceleratorForm.MatchString
	build := regexp.MustCompile(`^10\.0\.\d{5}$`)
	for key, known := range map[string]func(string) bool{
		"kubernetes.io/os": system, "beta.kubernetes.io/os": system, "kubernetes.io/arch": architecture, "beta.kubernetes.io/arch": architecture,
		"node.kubernetes.io/instance-type": openMachine, "beta.kubernetes.io/instance-type": openMachine,
		"node.kubernetes.io/windows-build": build.MatchString, "karpenter.sh/capacity-type": capacity, "eks.amazonaws.com/capacityType": capacity,
		"cloud.google.com/gke-accelerator": accelerator, "kubernetes.azure.com/accelerator": accelerator, "k8s.amazonaws.com/accelerator": accelerator,
		"cloud.google.com/machine-family":       only(`a2 a3 a4 c2 c2d c3 c3d c4 c4a c4d e2 f1 g1 g2 g4 h3 m1 m2 m3 m4 n1 n2 n2d n4 t2a t2d x4 z3`),
		"kubernetes.azure.com/scalesetpriority": only(`spot regular`),
	} {
		openValues[key] = known
	}
}

// acceleratorForm is "nvidia", or a card of it: "nvidia-tesla-t4", "nvidia-h100-80gb".
var acceleratorForm = regexp.MustCompile(`^(nvidia|amd|nvidia-tesla-[kptv]\d{1,3}|nvidia-(a10|a10g|a100|h100|h200|b200|gb200|l4|l40s|t4|v100)(-\d{2,3}gb|-mega-80gb|-141gb)?)$`)
