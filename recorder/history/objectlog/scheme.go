package objectlog

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// Scheme holds the kinds a log may have; lines of others are skipped and counted.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, eventsv1.AddToScheme, nodev1.AddToScheme,
		policyv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme, v1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	s.AddKnownTypes(v1alpha1.GroupVersion, &Recording{}, &Gap{}, &Usage{}, &Sample{})
	return s
}()
