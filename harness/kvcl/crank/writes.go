package crank

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// WriteKind says what a Write does.
type WriteKind int

// The kinds of writes of a scheduler.
const (
	// WriteVolume creates or updates Volume and Claim as given, status included. Either may be nil.
	WriteVolume WriteKind = iota
	// WriteBind binds the pod to Node.
	WriteBind
	// WriteStatus applies Patch, a strategic merge patch, to the pod's status.
	WriteStatus
	// WritePreempt asks for the deletion of the pod, a victim of preemption: it terminates, and holds its room until it has stopped.
	WritePreempt
	// WriteEvent creates Event.
	WriteEvent
)

// Write is one thing the scheduler would have written. Writes to one pod must be carried out in order; writes to
// volumes come before everything else.
type Write struct {
	Kind   WriteKind
	Pod    types.NamespacedName
	UID    types.UID
	Node   string
	Patch  []byte
	Volume *corev1.PersistentVolume
	Claim  *corev1.PersistentVolumeClaim
	Event  *eventsv1.Event
}

// client is the scheduler's client: it remembers binds, status patches and deletes of pods. It has nothing else; the
// scheduler uses nothing else.
type client struct {
	kubernetes.Interface
	c *Crank
}

func (c *client) CoreV1() corev1client.CoreV1Interface { return coreClient{c: c.c} }

type coreClient struct {
	corev1client.CoreV1Interface
	c *Crank
}

func (c coreClient) Pods(namespace string) corev1client.PodInterface {
	return podClient{c: c.c, namespace: namespace}
}

type podClient struct {
	corev1client.PodInterface
	c         *Crank
	namespace string
}

func (p podClient) Bind(_ context.Context, b *corev1.Binding, _ metav1.CreateOptions) error {
	p.c.remember(Write{Kind: WriteBind, Pod: types.NamespacedName{Namespace: p.namespace, Name: b.Name}, UID: b.UID, Node: b.Target.Name})
	return nil
}

func (p podClient) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Pod, error) {
	data, err := p.c.disrupted(data)
	if err != nil {
		return nil, err
	}
	p.c.remember(Write{Kind: WriteStatus, Pod: types.NamespacedName{Namespace: p.namespace, Name: name}, Patch: data})
	return nil, nil
}

func (p podClient) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	p.c.victim(types.NamespacedName{Namespace: p.namespace, Name: name})
	return nil
}

// remember keeps a write for the next flush. Binding cycles run on another goroutine while the loop waits for them.
func (c *Crank) remember(w Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, w)
}

func (c *Crank) takeWrites() []Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.writes
	c.writes = nil
	return w
}

// disrupted puts virtual time into the condition that says why a victim ends, in a strategic merge patch of its status: upstream has it
// from the wall clock (preemption.NewExecutor). Unlike the condition PodScheduled it stays with a pod that terminates. The generation it
// was observed at is left out, as it is of PodScheduled.
func (c *Crank) disrupted(patch []byte) ([]byte, error) {
	if !bytes.Contains(patch, []byte(corev1.DisruptionTarget)) {
		return patch, nil
	}
	var body map[string]any
	if err := json.Unmarshal(patch, &body); err != nil {
		return nil, fmt.Errorf("status of a victim: %w", err)
	}
	conditions, _, err := unstructured.NestedSlice(body, "status", "conditions")
	if err != nil {
		return nil, fmt.Errorf("status of a victim: %w", err)
	}
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == string(corev1.DisruptionTarget) {
			condition["lastTransitionTime"] = c.clock.Now().UTC().Format(time.RFC3339)
			delete(condition, "observedGeneration")
		}
	}
	if err := unstructured.SetNestedSlice(body, conditions, "status", "conditions"); err != nil {
		return nil, fmt.Errorf("status of a victim: %w", err)
	}
	return json.Marshal(body)
}

// victim remembers the deletion of a pod that the pod now being scheduled preempts.
func (c *Crank) victim(name types.NamespacedName) {
	v := Victim{Pod: name, Preemptor: c.current}
	w := Write{Kind: WritePreempt, Pod: name}
	if pod := c.pod(name); pod != nil {
		v.Node, w.UID = pod.Spec.NodeName, pod.UID
	}
	c.result.Victims = append(c.result.Victims, v)
	c.preempted = true
	c.remember(w)
}

func (c *Crank) pod(name types.NamespacedName) *corev1.Pod {
	obj, ok, err := c.pods.indexer.GetByKey(name.String())
	if err != nil || !ok {
		return nil
	}
	return obj.(*corev1.Pod)
}

func get[T runtime.Object](c *Crank, example T, key string) (T, bool) {
	obj, ok, err := c.informers[typeName(example)].indexer.GetByKey(key)
	if err != nil || !ok {
		var none T
		return none, false
	}
	return obj.(T), true
}
