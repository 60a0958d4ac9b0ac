package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/scalehist/scalehist"
)

// planter fills every string of an object with a canary of its own.
type planter struct {
	where map[string]string // canary -> field path
}

func (p *planter) canary(path string) string {
	c := fmt.Sprintf("cnry%dx", len(p.where))
	p.where[c] = path
	return c
}

func (p *planter) fill(v reflect.Value, path string, depth int) {
	switch v.Interface().(type) {
	case metav1.Time, metav1.MicroTime, resource.Quantity, intstr.IntOrString, metav1.FieldsV1, metav1.TypeMeta:
		return
	}
	if depth > 14 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(p.canary(path))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		p.fill(v.Elem(), path, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				name := path
				if !f.Anonymous {
					name += "." + f.Name
				}
				p.fill(v.Field(i), name, depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(p.canary(path)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		p.fill(v.Index(0), path+"[]", depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if v.Type().Key().Kind() != reflect.String {
			return
		}
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString(p.canary(path + "{key}"))
		value := reflect.New(v.Type().Elem()).Elem()
		p.fill(value, path+"{}", depth+1)
		v.SetMapIndex(key, value)
	}
}

// recordable are the field paths whose text a history may hold, without the kind. All that is not here must not reach
// the file: commands, arguments, environments, probes, annotations, secrets' and volumes' parameters, messages of nodes.
var recordable = regexp.MustCompile(`^(` + strings.Join([]string{
	// Who it is, and whose.
	`\.(Name|Namespace|UID|Labels\{.*|OwnerReferences\[\]\.(APIVersion|Kind|Name|UID))`,
	// What places a pod: spec of a pod or of a template.
	`(\.Spec\.Template)?\.Labels\{.*`,
	`(\.Spec\.Template)?\.Spec\.(NodeSelector\{.*|Affinity\..*|SchedulerName|Tolerations\[\]\..*|PriorityClassName|PreemptionPolicy|RuntimeClassName)`,
	`(\.Spec\.Template)?\.Spec\.(RestartPolicy|NodeName|Overhead\{.*|TopologySpreadConstraints\[\]\..*|OS\.Name|SchedulingGates\[\]\.Name|SchedulingGroup\..*)`,
	`(\.Spec\.Template)?\.Spec\.(ResourceClaims\[\]\..*|Resources\..*)`,
	`(\.Spec\.Template)?\.Spec\.(Init)?Containers\[\]\.(Name|Image|RestartPolicy|Resources\..*|Ports\[\]\.(Protocol|HostIP))`,
	`(\.Spec\.Template)?\.Spec\.Volumes\[\]\.(Name|PersistentVolumeClaim\.ClaimName|EmptyDir\.Medium|CSI\.Driver)`,
	`(\.Spec\.Template)?\.Spec\.Volumes\[\]\.(GCEPersistentDisk|AWSElasticBlockStore|AzureDisk)\..*`,
	`(\.Spec\.Template)?\.Spec\.Volumes\[\]\.Ephemeral\.VolumeClaimTemplate\.(Labels\{.*|Spec\..*)`,
	// What its containers lived through.
	`\.Status\.(Init)?ContainerStatuses\[\]\.(Name|AllocatedResources\{.*|Resources\.(Limits|Requests)\{.*|State\.Terminated\.Reason)`, `\.Status\.Resize`,
	// What scales it.
	`\.Spec\.(ScaleTargetRef|Metrics\[\]|Behavior)\..*`, `\.Spec\.Limits\[\]\..*`,
	`\.Spec\.(UpdateStrategy\.Type|PersistentVolumeClaimRetentionPolicy\..*|PodReplacementPolicy)`,
	// How it stands.
	`\.Status\.(Phase|Reason|NominatedNodeName)`,
	`\.Status\.Conditions\[\]\.(Type|Status|Reason)`,
	// Nodes and owners.
	`\.Spec\.(ProviderID|Taints\[\]\.(Key|Value|Effect))`,
	`\.Status\.(Capacity|Allocatable)\{.*`, `\.Status\.DeclaredFeatures\[\].*`,
	`\.Spec\.(Selector\..*|Strategy\..*|ServiceName|PodManagementPolicy|CompletionMode)`,
	`\.Spec\.VolumeClaimTemplates\[\]\.(Name|Namespace|UID|Labels\{.*|OwnerReferences.*|Spec\..*)`,
}, "|") + `)$`)

// TestCanaries fills every string of objects, sends them the way a watch does, and looks for them in the file's bytes.
func TestCanaries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path})
	p := &planter{where: map[string]string{}}
	ca := &appsv1.Deployment{}
	objects := []scalehist.Object{&corev1.Pod{}, &corev1.Node{}, &appsv1.Deployment{}, &appsv1.DaemonSet{}, &appsv1.ReplicaSet{},
		&appsv1.StatefulSet{}, &batchv1.Job{}, &autoscalingv2.HorizontalPodAutoscaler{}, &corev1.LimitRange{},
		&corev1.ConfigMap{}, ca}
	for _, o := range objects {
		kind := reflect.TypeOf(o).Elem().Name()
		p.fill(reflect.ValueOf(o).Elem(), kind, 0)
		o.SetResourceVersion("1")
		o.SetDeletionTimestamp(nil)
	}
	ca.Name = "cluster-autoscaler"
	main := &ca.Spec.Template.Spec.Containers[0]
	main.Name = "cluster-autoscaler"
	main.Command = []string{"sh", "-c", "TOKEN=" + p.canary("Deployment script") + " ./cluster-autoscaler --v=4"}
	main.Args = []string{"--expander=" + p.canary("allowed flag"), "--token=" + p.canary("Deployment flag token"), p.canary("Deployment positional")}
	main.Command = []string{"./cluster-autoscaler"}
	ca.Spec.Template.Spec.InitContainers[0].Command = []string{"--token", p.canary("Deployment init command")}
	custom := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineClass",
		"metadata":     map[string]any{"name": "canary", "namespace": "default", "uid": "u", "resourceVersion": "1", "annotations": map[string]any{"x": p.canary("MachineClass annotation")}},
		"providerSpec": map[string]any{"userData": p.canary("MachineClass provider spec")}, "secretRef": map[string]any{"name": p.canary("MachineClass secret")},
		"nodeTemplate": map[string]any{"zone": p.canary("allowed zone")}}}
	deliver(t, rec, append(objects, custom)...)
	rec.flush()
	wal, _ := os.ReadFile(path + "-wal") // it may have been taken into the file already
	rec.end()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for canary, where := range p.where {
		if !strings.Contains(string(file), canary) && !strings.Contains(string(wal), canary) {
			continue
		}
		found++
		_, field, _ := strings.Cut(where, ".")
		if !strings.HasPrefix(where, "allowed ") && !recordable.MatchString("."+field) {
			t.Errorf("%s reached the file", where)
		}
	}
	if found < 50 {
		t.Errorf("%d of %d canaries are in the file: the test looks at the wrong thing", found, len(p.where))
	}
}

// deliver sends objects the way a watch does.
func deliver(t *testing.T, rec *recording, objects ...scalehist.Object) {
	t.Helper()
	for _, o := range objects {
		from := watch.NewFake()
		s := newStripped(from)
		go from.Add(o)
		e := <-s.ResultChan()
		s.Stop()
		kind := reflect.TypeOf(o).Elem().Name()
		i := slices.IndexFunc(rec.watches, func(w *watched) bool { return w.kind == kind })
		w := &watched{}
		if i >= 0 {
			w = rec.watches[i]
		} else {
			target := customTargets[slices.IndexFunc(customTargets, func(x target) bool { return x.kind == "MachineClass.machine.sapcloud.io" })]
			target.resource.Version, target.plane = "v1alpha1", dataPlane
			w = newWatched(rec.Recorder, target)
		}
		if err := w.Update(e.Object); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock() // the API server does not have it: a flush would wait for it to go
		delete(w.known, scalehist.NameOf(e.Object.(scalehist.Object)))
		w.mu.Unlock()
	}
}
