package canary

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

// Objects are one or more of every kind that an object log may have, whether or not a history keeps it, in a fixed order.
// Of the kinds where a name decides what is kept, there is one of each such name.
func (c *Cage) Objects() []scalehist.Object {
	all := objectlog.Scheme.AllKnownTypes()
	order := slices.SortedFunc(maps.Keys(all), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	var out []scalehist.Object
	for _, gvk := range order {
		if !strings.HasSuffix(gvk.Kind, "List") && gvk.Version != "__internal" {
			if o, ok := reflect.New(all[gvk]).Interface().(scalehist.Object); ok {
				out = append(out, c.typed(gvk, o)...)
			}
		}
	}
	for _, gk := range objectlog.CustomKinds() {
		out = append(out, c.custom(gk)...)
	}
	return out
}

// typed fills an object, and makes variants of it where needed.
func (c *Cage) typed(gvk schema.GroupVersionKind, o scalehist.Object) []scalehist.Object {
	filled := func() scalehist.Object {
		o := o.DeepCopyObject().(scalehist.Object)
		c.Fill(reflect.ValueOf(o).Elem(), gvk.Kind)
		o.GetObjectKind().SetGroupVersionKind(gvk)
		c.known(o, gvk.Kind)
		return o
	}
	first := filled()
	switch o := first.(type) {
	case *corev1.ConfigMap:
		status, priorities := filled().(*corev1.ConfigMap), filled().(*corev1.ConfigMap)
		status.Name, priorities.Name = "cluster-autoscaler-status", "cluster-autoscaler-priority-expander"
		status.Data["status"] = c.Text("ConfigMap.data.status")
		priorities.Data["priorities"] = "10:\n- " + c.Text("ConfigMap.data.priorities") + "\n"
		return []scalehist.Object{o, status, priorities}
	case *appsv1.Deployment:
		autoscaler := filled().(*appsv1.Deployment)
		main := &autoscaler.Spec.Template.Spec.Containers[0]
		main.Name = "cluster-autoscaler"
		main.Image = "cluster-autoscaler:v1.30.0-" + c.Text("Deployment.image")
		main.Args = []string{"--nodes=1:3:" + c.Text("Deployment.args.nodes"), "--cluster-name=" + c.Text("Deployment.args.cluster-name"),
			"--" + c.Text("Deployment.args.name") + "=1", "--cloud-provider", c.Text("Deployment.args.provider"), "--token", c.Text("Deployment.args.secret"), "-" + c.Text("Deployment.args.dash")}
		return []scalehist.Object{o, autoscaler}
	case *corev1.Pod:
		return append([]scalehist.Object{o}, c.volumes(o)...)
	}
	return []scalehist.Object{first}
}

// volumes are pods with one source of a volume each: the first that is known is kept, the others are not.
func (c *Cage) volumes(p *corev1.Pod) []scalehist.Object {
	var out []scalehist.Object
	t := reflect.TypeFor[corev1.VolumeSource]()
	for i := range t.NumField() {
		one := p.DeepCopy()
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		one.OwnerReferences[0].Kind = "ReplicaSet" // whose pods have a name of two parts, stored apart
		one.Name, one.UID = c.Text("Pod.metadata.name")+"-"+c.Text("Pod.metadata.name"), ""
		one.Spec.Volumes = []corev1.Volume{{Name: c.Text("Pod.spec.volumes[].name")}}
		c.Fill(reflect.ValueOf(&one.Spec.Volumes[0].VolumeSource).Elem().Field(i), "Pod.spec.volumes[]."+name)
		out = append(out, one)
	}
	return out
}

// known puts canaries behind keys that code looks for, and values that no cluster lacks.
func (c *Cage) known(o scalehist.Object, kind string) {
	annotations, labels := o.GetAnnotations(), o.GetLabels()
	if annotations == nil { // marks have none
		return
	}
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = c.Text(kind + ".metadata.annotations{last-applied}")
	for _, key := range projection.Annotations() {
		if strings.HasSuffix(key, "/") || strings.HasSuffix(key, "-") || strings.HasSuffix(key, ".") {
			key += c.Text(kind + ".metadata.annotations{" + key + "*}")
		}
		annotations[key] = c.Text(kind + ".metadata.annotations." + key)
	}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable,
		corev1.LabelMetadataName, "node.kubernetes.io/windows-build", "karpenter.sh/capacity-type", "app"} {
		labels[key] = c.Text(kind + ".metadata.labels." + key)
	}
	for _, domain := range []string{"kubernetes.io/", "node-role.kubernetes.io/", "worker.gardener.cloud/", "karpenter.sh/"} {
		labels[domain+c.Text(kind+".metadata.labels{"+domain+"*}")] = c.Text(kind + ".metadata.labels." + domain)
	}
	o.SetAnnotations(annotations)
	o.SetLabels(labels)
	if g, ok := o.(*v1alpha1.NodeGroup); ok {
		g.Spec.MinSize, g.Spec.MaxSize, g.Spec.TargetSize = 1, 2, 1
	}
}

// custom are objects of a provider's kind: with a text at every path that is kept, and with everything that JSON has there.
func (c *Cage) custom(gk schema.GroupKind) []scalehist.Object {
	forms := []func(place string) any{
		func(place string) any { return c.Text(place) },
		func(place string) any { return c.tree(place) },
		func(place string) any { return []any{c.tree(place + "[]"), c.Text(place + "[]")} },
	}
	var out []scalehist.Object
	for _, form := range forms {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		for _, path := range projection.Fields(gk.String()) {
			put(o.Object, strings.Split(path, "."), form(gk.Kind+"."+path))
		}
		var meta metav1.ObjectMeta
		c.Fill(reflect.ValueOf(&meta).Elem(), gk.Kind+".metadata")
		o.SetGroupVersionKind(gk.WithVersion("v1"))
		projection.SetMeta(o, meta)
		o.SetFinalizers(meta.Finalizers)
		c.known(o, gk.Kind)
		out = append(out, o)
	}
	if slices.Contains(projection.Fields(gk.String()), "spec.triggers[].metadata") {
		last := out[0].DeepCopyObject().(*unstructured.Unstructured)
		last.Object["spec"] = map[string]any{"triggers": []any{map[string]any{"type": "prometheus", "metadata": c.trigger(gk.Kind + ".spec.triggers[].metadata.")}}}
		out = append(out, last)
	}
	if gk.Kind == "VerticalPodAutoscaler" {
		last := out[0].DeepCopyObject().(*unstructured.Unstructured)
		last.Object["status"] = map[string]any{"recommendation": map[string]any{"containerRecommendations": []any{c.recommendation(gk.Kind + ".status.recommendation.")}}}
		out = append(out, last)
	}
	return out
}

// trigger is the metadata of a trigger: what decides, and in places that begin with "secret" what must not be stored.
func (c *Cage) trigger(place string) map[string]any {
	secret := func(what string) string { return c.Text(place + "secret." + what) }
	return map[string]any{
		"query": c.Text(place + "query"), "metricName": c.Text(place + "metricName"), "threshold": c.Text(place + "threshold"), "start": c.Text(place + "start"),
		"serverAddress": "https://" + secret("user") + ":" + secret("password") + "@prometheus." + c.Text(place+"serverAddress") + ".example/" +
			secret("path") + "?token=" + secret("token"),
		"host": "amqp://guest:" + secret("host") + "@rabbit", "passwordFromEnv": secret("passwordFromEnv"), "customAuthValue": secret("customAuthValue"),
		"namespace": "token=" + secret("namespace"), secret("key"): "1", "headers": map[string]any{"Authorization": "Bearer " + secret("headers")},
	}
}

// recommendation is what a vertical autoscaler recommends for a container, with texts where amounts belong.
func (c *Cage) recommendation(place string) map[string]any {
	out := map[string]any{"containerName": c.Text(place + "containerName"), "message": c.Text(place + "secret.message")}
	for _, field := range []string{"target", "lowerBound", "upperBound", "uncappedTarget"} {
		out[field] = map[string]any{"memory": c.Text(place + field + ".memory"), c.Text(place + field + "{key}"): c.Text(place + field + "{}")}
	}
	return out
}

// tree has a text behind every key that providers' objects use below a path, and behind one that none does.
func (c *Cage) tree(place string) map[string]any {
	out := map[string]any{c.Text(place + "{key}"): c.Text(place + "{}")}
	for _, field := range []string{"key", "operator", "value", "effect", "type", "status", "reason", "kind", "name", "group", "apiVersion", "zone", "schedule",
		"duration", "nodes", "version", "machineType", "providerID", "lastTransitionTime", "errorCode", "size"} {
		out[field] = c.Text(place + "." + field)
	}
	for _, field := range []string{"labels", "annotations", "matchLabels", "limits", "rollingUpdate"} {
		out[field] = map[string]any{c.Text(place + "." + field + "{key}"): c.Text(place + "." + field + "{}"), "memory": c.Text(place + "." + field + ".memory")}
	}
	out["values"] = []any{c.Text(place + ".values[]")}
	out["matchExpressions"] = []any{map[string]any{"key": c.Text(place + ".matchExpressions[].key"), "operator": "Gt", "values": []any{c.Text(place + ".matchExpressions[].values[]")}}}
	return out
}

// put sets the value at a path; a part that ends in "[]" is a list of one element.
func put(to map[string]any, path []string, v any) {
	name, list := strings.CutSuffix(path[0], "[]")
	if len(path) == 1 {
		to[name] = v
		return
	}
	inner, _ := to[name].(map[string]any)
	if list {
		if l, ok := to[name].([]any); ok {
			inner = l[0].(map[string]any)
		}
	}
	if inner == nil {
		inner = map[string]any{}
	}
	put(inner, path[1:], v)
	if list {
		to[name] = []any{inner}
		return
	}
	to[name] = inner
}
