package config

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Settings are the autoscaler's settings after parsing, by upstream flag. DefaultSettings has upstream's defaults.
type Settings struct {
	// ScanInterval is the time between two loops when nothing asks for another one at once (--scan-interval).
	ScanInterval time.Duration
	// Expander is the chain of expanders, in order (--expander).
	Expander []string
	// Seed feeds what upstream leaves to chance: the random expander and the order in which pods are listed. Each seed
	// is one of upstream's possible runs. It is not an upstream flag.
	Seed int64
	// NodesAsListed looks at nodes for removal in the order of the cluster's list. Upstream lists them from a map, so the order is
	// left to chance as well; where a test of upstream gives it a list, this is that list's.
	NodesAsListed bool
	// FirstOfTies takes the first of the options that the expanders leave, in the order of the groups. Else they are drawn by the seed, as
	// upstream draws them, but with seed 0, which is the draw of the first.
	FirstOfTies bool
	// NamelessTies shuffles what is listed by its place in the list, not by its name: clusters that differ in names only,
	// and sort alike, are decided alike.
	NamelessTies bool
	// NodesAsStored lists nodes as Go walks the informer's map of them: up to eight in the order in which they came, mostly from the
	// first on. Else a list of them begins at any node alike.
	NodesAsStored bool
	// Priorities is the YAML of the priority expander's ConfigMap.
	Priorities string

	// MaxNodesTotal is the most nodes in the cluster, 0 for no limit.
	MaxNodesTotal int
	// CoresTotal is in cores, MemoryTotal in GiB, GPUTotal in devices by GPU type.
	CoresTotal, MemoryTotal Range
	GPUTotal                map[string]Range
	MaxNodesPerScaleUp      int
	ParallelScaleUp         bool
	EnforceMinSize          bool
	ScaleUpFromZero         bool

	BalanceSimilarNodeGroups bool
	BalancingIgnoreLabels    []string
	// CloudProvider adds labels that make no two groups different.
	CloudProvider         string
	BalancingLabels       []string
	MemoryDifferenceRatio float64
	FreeDifferenceRatio   float64
	AllocDifferenceRatio  float64

	// ExpendablePriorityCutoff: pods of lower priority neither scale up nor take room.
	ExpendablePriorityCutoff int
	NewPodScaleUpDelay       time.Duration
	AllowedSchedulers        []string
	BypassedSchedulers       []string

	ForceDaemonSets        bool
	ScaleFromUnschedulable bool
	NodeInfoCacheExpiry    time.Duration
	StartupTaints          []string
	StartupTaintPrefixes   []string
	StatusTaints           []string

	MaxNodeProvisionTime    time.Duration
	MaxNodeStartupTime      time.Duration
	OkTotalUnreadyCount     int
	MaxTotalUnreadyPercent  float64
	ForceDeleteUnregistered bool
	InitialBackoff          time.Duration
	MaxBackoff              time.Duration
	BackoffReset            time.Duration

	// Down are the settings of scale-down.
	Down DownSettings

	// RecordDuplicatedEvents turns the event throttling off. Namespace and StatusConfigMap name the status object.
	RecordDuplicatedEvents bool
	Namespace              string
	StatusConfigMap        string
	// WriteStatus: the state is written to the status ConfigMap (--write-status-configmap).
	WriteStatus bool
}

// GPUResource is the resource that upstream knows as a GPU (utils/gpu).
const GPUResource = corev1.ResourceName("nvidia.com/gpu")

// Range is an inclusive [Min, Max].
type Range struct{ Min, Max int64 }

// DefaultSettings are upstream's defaults (cluster-autoscaler 1.36, config/flags).
func DefaultSettings() Settings {
	return Settings{
		ScanInterval: 10 * time.Second, Expander: []string{"least-waste"},
		CoresTotal: Range{0, 320000}, MemoryTotal: Range{0, 6400000}, GPUTotal: map[string]Range{},
		MaxNodesPerScaleUp: 1000, ScaleUpFromZero: true,
		MemoryDifferenceRatio: 0.015, FreeDifferenceRatio: 0.05, AllocDifferenceRatio: 0.05,
		ExpendablePriorityCutoff: -10, NodeInfoCacheExpiry: 87600 * time.Hour,
		MaxNodeProvisionTime: 15 * time.Minute, MaxNodeStartupTime: 15 * time.Minute,
		OkTotalUnreadyCount: 3, MaxTotalUnreadyPercent: 45,
		InitialBackoff: 5 * time.Minute, MaxBackoff: 30 * time.Minute, BackoffReset: 3 * time.Hour,
		Down: defaultDownSettings(), CloudProvider: "externalgrpc",
		Namespace: "kube-system", StatusConfigMap: "cluster-autoscaler-status", WriteStatus: true,
	}
}
