package hpa

import (
	"errors"
	"fmt"
	"time"
)

// Options are the flags and feature gates of kube-controller-manager that change what the autoscaler does.
type Options struct {
	// SyncPeriod is --horizontal-pod-autoscaler-sync-period: how long after the end of a sync of an autoscaler its next one is.
	SyncPeriod time.Duration
	// DownscaleStabilization is --horizontal-pod-autoscaler-downscale-stabilization: how long a recommendation keeps a target from being
	// smaller. behavior.scaleDown.stabilizationWindowSeconds is stronger.
	DownscaleStabilization time.Duration
	// Tolerance is --horizontal-pod-autoscaler-tolerance: how far usage may be from its target, as a fraction of the target, before the
	// size changes. behavior.scaleUp.tolerance and behavior.scaleDown.tolerance are stronger.
	Tolerance float64
	// CPUInitializationPeriod is --horizontal-pod-autoscaler-cpu-initialization-period: how long after the start of a pod its CPU usage is
	// left out while it is unready, or was measured before it was ready for a whole window.
	CPUInitializationPeriod time.Duration
	// InitialReadinessDelay is --horizontal-pod-autoscaler-initial-readiness-delay: a pod whose readiness changed last so soon after its start
	// is seen as one that was never ready.
	InitialReadinessDelay time.Duration

	// ScaleToZero is the feature gate HPAScaleToZero: whether a target that the autoscaler scaled to zero is scaled up again.
	ScaleToZero bool
	// ConfigurableTolerance is the feature gate HPAConfigurableTolerance: whether the tolerances of a behavior are read.
	ConfigurableTolerance bool
	// PodLevelResources is the feature gate of that name: whether requests of a pod as a whole are read.
	PodLevelResources bool
}

// Defaults are the defaults of Kubernetes 1.36: pkg/controller/podautoscaler/config/v1alpha1/defaults.go and pkg/features.
func Defaults() Options {
	return Options{
		SyncPeriod:              15 * time.Second,
		DownscaleStabilization:  5 * time.Minute,
		Tolerance:               0.1,
		CPUInitializationPeriod: 5 * time.Minute,
		InitialReadinessDelay:   30 * time.Second,
		ConfigurableTolerance:   true,
		PodLevelResources:       true,
	}
}

// validate reports values that kube-controller-manager refuses or cannot work with.
func (o Options) validate() error {
	var errs []error
	if o.SyncPeriod <= 0 {
		errs = append(errs, fmt.Errorf("sync period %s: want more than 0", o.SyncPeriod))
	}
	if !(o.Tolerance >= 0) {
		errs = append(errs, fmt.Errorf("tolerance %v: want 0 or more", o.Tolerance))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"downscale stabilization", o.DownscaleStabilization},
		{"CPU initialization period", o.CPUInitializationPeriod},
		{"initial readiness delay", o.InitialReadinessDelay},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s %s: want 0 or more", d.name, d.value))
		}
	}
	return errors.Join(errs...)
}
