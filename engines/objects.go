package engines

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/recommender/horizontal/keda"
)

// objectKinds are the kinds of objects that configure controllers.
var objectKinds = map[string]func() scalehist.Object{
	autoscalingv2.SchemeGroupVersion.String() + " HorizontalPodAutoscaler": func() scalehist.Object { return new(autoscalingv2.HorizontalPodAutoscaler) },
	vpav1.SchemeGroupVersion.String() + " VerticalPodAutoscaler":           func() scalehist.Object { return new(vpav1.VerticalPodAutoscaler) },
	vpav1.SchemeGroupVersion.String() + " VerticalPodAutoscalerCheckpoint": func() scalehist.Object { return new(vpav1.VerticalPodAutoscalerCheckpoint) },
	corev1.SchemeGroupVersion.String() + " LimitRange":                     func() scalehist.Object { return new(corev1.LimitRange) },
}

// ParseObjects reads the objects that configure controllers, as kubectl applies them: YAML documents, or JSON. It knows HorizontalPodAutoscaler of
// autoscaling/v2, VerticalPodAutoscaler and VerticalPodAutoscalerCheckpoint of autoscaling.k8s.io/v1, ElastiService, ScaledObject, and LimitRange. A namespace that is not set is "default".
func ParseObjects(data []byte) ([]scalehist.Object, error) {
	if err := decode.Size(data); err != nil {
		return nil, err
	}
	var out []scalehist.Object
	for _, doc := range documents(data) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil || kind.Kind == "" {
			// Of what is no object, decoding it as one says what is wrong.
			if err := decode.YAML(doc, &autoscalingv2.HorizontalPodAutoscaler{}); err != nil {
				return nil, err
			}
			return nil, errors.New("kind is not set")
		}
		if kind.Kind == elastiv1alpha1.Kind && kind.APIVersion == elastiv1alpha1.GroupVersion.String() {
			o, err := parseElastiService(doc)
			if err != nil {
				return nil, err
			}
			out = append(out, o)
			continue
		}
		if kind.Kind == keda.Kind && kind.APIVersion == keda.APIVersion {
			o, err := parseScaledObject(doc)
			if err != nil {
				return nil, err
			}
			out = append(out, o)
			continue
		}
		build := objectKinds[kind.APIVersion+" "+kind.Kind]
		if build == nil {
			var known []string
			for name := range maps.Keys(objectKinds) {
				version, kind, _ := strings.Cut(name, " ")
				known = append(known, kind+" of "+version)
			}
			known = append(known, elastiv1alpha1.Kind+" of "+elastiv1alpha1.GroupVersion.String(), keda.Kind+" of "+keda.APIVersion)
			slices.Sort(known)
			return nil, fmt.Errorf("%s of %s configures no controller here: %s do", kind.Kind, kind.APIVersion, strings.Join(known, ", "))
		}
		o := build()
		if err := decode.YAML(doc, o); err != nil {
			return nil, err
		}
		if o.GetName() == "" {
			return nil, fmt.Errorf("a %s has no metadata.name", kind.Kind)
		}
		if o.GetNamespace() == "" {
			o.SetNamespace(metav1.NamespaceDefault)
		}
		out = append(out, o)
	}
	if len(out) == 0 {
		return nil, errors.New("there are no objects in it")
	}
	return out, nil
}

// parseElastiService reads one, with the keys of its type and no others.
func parseElastiService(doc []byte) (scalehist.Object, error) {
	var typed elastiv1alpha1.ElastiService
	if err := decode.YAML(doc, &typed); err != nil {
		return nil, err
	}
	return asUnstructured(doc, elastiv1alpha1.Kind)
}

// parseScaledObject reads one, with the keys of its type and no others.
func parseScaledObject(doc []byte) (scalehist.Object, error) {
	var typed keda.ScaledObject
	if err := decode.YAML(doc, &typed); err != nil {
		return nil, err
	}
	o, err := asUnstructured(doc, keda.Kind)
	if err == nil {
		_, err = asScaledObject(o)
	}
	return o, err
}

// asUnstructured reads an object whose keys are known to be right.
func asUnstructured(doc []byte, kind string) (scalehist.Object, error) {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(doc, &o.Object); err != nil {
		return nil, err
	}
	if o.GetName() == "" {
		return nil, fmt.Errorf("a %s has no metadata.name", kind)
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	return o, nil
}

// documents are the YAML documents of a text that hold something, each with as many empty lines before it as there are before it in the text: then the
// lines of errors are those of the text.
func documents(data []byte) [][]byte {
	var out [][]byte
	var doc, before []byte
	holds := false
	end := func() {
		if holds {
			out = append(out, doc)
		}
		doc, holds = bytes.Clone(before), false
	}
	for line := range bytes.Lines(data) {
		before = append(before, '\n')
		text := bytes.TrimSpace(line)
		if bytes.HasPrefix(line, []byte("---")) {
			end()
			continue
		}
		holds = holds || len(text) > 0 && text[0] != '#'
		doc = append(doc, line...)
	}
	end()
	return out
}
