package redact

import (
	"fmt"
	"reflect"
	"regexp"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// rewrite goes over an object: what needs more than its fields first, then every field that is left.
func (r *rewriter) rewrite(o scalehist.Object) {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	switch o := o.(type) {
	case *unstructured.Unstructured:
		r.custom(o)
		return
	case *objectlog.Recording:
		o.ObjectMeta = metav1.ObjectMeta{Name: r.markName(o.Name)}
		o.Spec.Kinds, o.Spec.Origin = r.kinds(o.Spec.Kinds), r.origin(o.Spec.Origin)
		return
	case *objectlog.Gap:
		o.ObjectMeta = metav1.ObjectMeta{Name: r.markName(o.Name)}
		o.Spec.Kinds, o.Spec.Why = r.kinds(o.Spec.Kinds), r.why(o.Spec.Why)
		return
	case *objectlog.Usage:
		o.ObjectMeta = metav1.ObjectMeta{Namespace: r.namespace(o.Namespace), Name: r.name("pod", o.Name)}
		o.Spec.Container = r.name("container", o.Spec.Container)
		return
	case *objectlog.Sample:
		r.sample(o)
		return
	case *corev1.Event:
		o.Message = r.message(o.Message)
	case *eventsv1.Event:
		o.Note = r.message(o.Note)
	case *corev1.ConfigMap:
		r.configMap(o)
	case *v1alpha1.NodeGroup:
		r.groups[o.Name] = true
	}
	w := walk{r, kind}
	w.value(reflect.ValueOf(o).Elem(), "")
}

// walk visits the fields of one object by reflection. Of named string types, which are enumerations of the API, its words
// stay; plain strings without a rule are replaced whole.
type walk struct {
	*rewriter
	kind string
}

var (
	typeQuantity = reflect.TypeFor[resource.Quantity]()
	typeTime     = reflect.TypeFor[metav1.Time]()
	typeMicro    = reflect.TypeFor[metav1.MicroTime]()
	typeMeta     = reflect.TypeFor[metav1.TypeMeta]()
	typeString   = reflect.TypeFor[string]()
)

// rules for one string, by "Type.Field". A field that holds a list of strings, or a pointer to one, goes by the same.
type stringRule func(w walk, s string) string

func keep(_ walk, s string) string { return s }

func named(class string) stringRule {
	return func(w walk, s string) string { return w.name(class, s) }
}

func either(class string, stay map[string]bool) stringRule {
	return func(w walk, s string) string { return w.open(class, s, stay) }
}

func (w walk) value(v reflect.Value, field string) {
	if w.err != nil {
		return
	}
	switch v.Type() {
	case typeQuantity, typeTime, typeMicro:
		return
	case typeMeta:
		if field != w.kind+".TypeMeta" { // that of an object within this one; its own says what it was read as
			v.SetZero()
		}
		return
	}
	if v.CanAddr() {
		if w.whole(v.Addr().Interface(), field) {
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.value(v.Elem(), field)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.value(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetZero() // no field of a history is made of bytes
			return
		}
		for i := range v.Len() {
			w.value(v.Index(i), field)
		}
	case reflect.Map:
		w.table(v, field)
	case reflect.String:
		v.SetString(w.text2(v, field))
	}
}

// text2 applies the rule of a string's field, else of its type.
func (w walk) text2(v reflect.Value, field string) string {
	s := v.String()
	if rule, ok := fieldRules[field]; ok {
		return rule(w, s)
	}
	if v.Type() != typeString {
		if rule, ok := typeRules[v.Type()]; ok {
			return rule(w, s)
		}
		return w.enumeration(s)
	}
	return w.text(s)
}

// table rewrites a map: labels, annotations and resources by their rules, any other one key and value.
func (w walk) table(v reflect.Value, field string) {
	if v.Len() == 0 {
		return
	}
	switch m := v.Interface().(type) {
	case corev1.ResourceList:
		v.Set(reflect.ValueOf(w.resources(m)))
		return
	case map[string]string:
		switch {
		case labelMaps[field]:
			v.Set(reflect.ValueOf(w.labels(m)))
		case field == "ObjectMeta.Annotations":
			v.Set(reflect.ValueOf(w.annotations(m)))
		case field == "ConfigMap.Data": // done before
		default:
			out := make(map[string]string, len(m))
			for k, value := range m {
				out[w.text(k)] = w.text(value)
			}
			v.Set(reflect.ValueOf(out))
		}
		return
	}
	if v.Type().Key().Kind() != reflect.String || v.Type().Elem().Kind() == reflect.Struct && v.Type().Elem() != typeTime {
		w.fail(fmt.Errorf("field %s: a map of type %s has no rule", field, v.Type()))
		return
	}
	v.SetZero() // PodDisruptionBudget's status.disruptedPods and the like: not part of a history
}

func (w walk) fail(err error) {
	if w.err == nil {
		w.rewriter.err = err
	}
}

// shareForm is the text of a number or a share.
var shareForm = regexp.MustCompile(`^\d{0,3}%?$`)

// labelMaps are the fields whose keys and values are those of labels.
var labelMaps = map[string]bool{
	"ObjectMeta.Labels": true, "LabelSelector.MatchLabels": true, "PodSpec.NodeSelector": true, "ServiceSpec.Selector": true,
	"ReplicationControllerSpec.Selector": true, "Scheduling.NodeSelector": true,
}

// whole rewrites what goes by more than one of its fields; false for everything else.
func (w walk) whole(v any, field string) bool {
	switch v := v.(type) {
	case *metav1.ObjectMeta:
		w.meta(v, field)
		return true
	case *intstr.IntOrString:
		if !shareForm.MatchString(v.StrVal) {
			v.StrVal = w.text(v.StrVal)
		}
		return true
	case *autoscalingv2.CrossVersionObjectReference:
		v.APIVersion, v.Name = w.apiVersion(v.APIVersion), w.name(classOf(v.Kind), v.Name)
		v.Kind = w.open("kind", v.Kind, openKinds)
		return true
	case *metav1.OwnerReference:
		v.APIVersion, v.Name, v.UID = w.apiVersion(v.APIVersion), w.name(classOf(v.Kind), v.Name), w.uid(v.UID)
		v.Kind = w.open("kind", v.Kind, openKinds)
		return true
	case *corev1.ObjectReference:
		w.reference(v)
		return true
	case *corev1.Taint:
		v.Key, v.Value, v.Effect = w.labelKey(v.Key), w.labelValue(v.Key, v.Value), corev1.TaintEffect(w.effect(string(v.Effect)))
		return true
	case *corev1.Toleration:
		if v.Operator == "Gt" || v.Operator == "Lt" {
			w.numeric[v.Key] = true
		}
		v.Key, v.Value, v.Effect = w.labelKey(v.Key), w.labelValue(v.Key, v.Value), corev1.TaintEffect(w.effect(string(v.Effect)))
		v.Operator = corev1.TolerationOperator(w.enumeration(string(v.Operator)))
		return true
	case *corev1.NodeSelectorRequirement:
		if v.Operator == corev1.NodeSelectorOpGt || v.Operator == corev1.NodeSelectorOpLt {
			w.numeric[v.Key] = true
		}
		w.labelValues(v.Key, v.Values)
		v.Key, v.Operator = w.labelKey(v.Key), corev1.NodeSelectorOperator(w.enumeration(string(v.Operator)))
		return true
	case *metav1.LabelSelectorRequirement:
		w.labelValues(v.Key, v.Values)
		v.Key, v.Operator = w.labelKey(v.Key), metav1.LabelSelectorOperator(w.enumeration(string(v.Operator)))
		return true
	case *corev1.TopologySelectorLabelRequirement:
		w.labelValues(v.Key, v.Values)
		v.Key = w.labelKey(v.Key)
		return true
	case *corev1.Container:
		w.container(v)
		return true
	case *corev1.ContainerPort:
		v.Name, v.HostIP, v.Protocol = w.name("port", v.Name), w.hostIP(v.HostIP), corev1.Protocol(w.enumeration(string(v.Protocol)))
		return true
	}
	return false
}

func (w walk) meta(m *metav1.ObjectMeta, field string) {
	class := "name"
	if field == w.kind+".ObjectMeta" || field == "" {
		class = classOf(w.kind)
	}
	switch class {
	case "namespace":
		m.Name = w.namespace(m.Name)
	case "metricquery": // it is called as its series is
		m.Name = w.open("series", m.Name, openSeries)
	default:
		m.Name = w.name(class, m.Name)
	}
	m.Namespace, m.UID = w.namespace(m.Namespace), w.uid(m.UID)
	m.Labels, m.Annotations = w.labels(m.Labels), w.annotations(m.Annotations)
	for i := range m.OwnerReferences {
		w.whole(&m.OwnerReferences[i], "")
	}
	m.SetSelfLink("")
	m.GenerateName, m.ResourceVersion, m.ManagedFields, m.Finalizers = "", "", nil, nil
}

func (w walk) reference(v *corev1.ObjectReference) {
	if v.Kind == "Namespace" {
		v.Name = w.namespace(v.Name)
	} else {
		v.Name = w.name(classOf(v.Kind), v.Name)
	}
	v.APIVersion, v.Kind = w.apiVersion(v.APIVersion), w.open("kind", v.Kind, openKinds)
	v.Namespace, v.UID, v.ResourceVersion = w.namespace(v.Namespace), w.uid(v.UID), ""
	v.FieldPath = w.fieldPath(v.FieldPath)
}

func (w walk) container(c *corev1.Container) {
	c.Name = w.name("container", c.Name)
	c.Command, c.Args = w.arguments(c.Command), w.arguments(c.Args)
	c.Image = w.image(c.Image)
	for i := range c.Ports {
		w.whole(&c.Ports[i], "")
	}
	rest := *c
	rest.Name, rest.Command, rest.Args, rest.Image, rest.Ports = "", nil, nil, "", nil
	v := reflect.ValueOf(&rest).Elem()
	for i := range v.NumField() {
		w.value(v.Field(i), "Container."+v.Type().Field(i).Name)
	}
	rest.Name, rest.Command, rest.Args, rest.Image, rest.Ports = c.Name, c.Command, c.Args, c.Image, c.Ports
	*c = rest
}
