package recorder

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

// fatPod is a pod with what recorders choke on: about 22 kB of environment, probes, managed fields and annotations.
func fatPod(i int) *corev1.Pod {
	p := pod("default", fmt.Sprintf("web-%d", i))
	p.ResourceVersion, p.UID = "1", "u"
	filler := strings.Repeat(strconv.Itoa(i%10), 1000)
	for j := range 10 {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprint("E", j), Value: filler})
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{Manager: "m", FieldsV1: metav1.NewFieldsV1(filler)})
	}
	p.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: filler + filler}
	return p
}

// pods serves pods in pages of protobuf, as an API server does.
func podPages(t testing.TB, total int) *rest.Config {
	s := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		from, _ := strconv.Atoi(q.Get("continue"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		if limit == 0 {
			limit = total
		}
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		for i := from; i < min(from+limit, total); i++ {
			list.Items = append(list.Items, *fatPod(i))
		}
		if from+limit < total {
			list.Continue = strconv.Itoa(from + limit)
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		if err := s.Encode(list, w); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// heapNow is what is reachable.
func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestHeapOfALargeList: of 20,000 pods of 22 kB (440 MB) a list keeps what the history keeps.
func TestHeapOfALargeList(t *testing.T) {
	const total = 20_000
	r, err := New(podPages(t, total), Options{Path: "unused.db"})
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for targets[i].kind != "Pod" {
		i++
	}
	w := newWatched(r, targets[i])
	before := heapNow()
	list, _, err := pager.New(pager.SimplePageFunc(func(o metav1.ListOptions) (list apiruntime.Object, err error) {
		return w.list(t.Context(), o)
	})).ListWithAlloc(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	grown := int64(heapNow()) - int64(before)
	t.Logf("%d pods: the heap grew by %.1f MiB, %d bytes a pod", total, float64(grown)/(1<<20), grown/total)
	if grown > 100<<20 { // 5 kB a pod; unstripped they are 22 kB
		t.Errorf("the heap grew by %d MiB, want 100 at most", grown>>20)
	}
	runtime.KeepAlive(list)
}
