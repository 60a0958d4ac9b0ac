package redact

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// classOf is the class of an object's name: its kind in small letters.
func classOf(kind string) string {
	switch kind {
	case "":
		return "name"
	case "NodeGroup":
		return "node group"
	}
	return strings.ToLower(kind)
}

func (r *rewriter) namespace(s string) string { return r.name("namespace", s) }

// labelKey rewrites the key of a label, a taint or an annotation. Those that Kubernetes and providers define stay.
func (r *rewriter) labelKey(k string) string {
	if k == "" || r.keepLabels[k] || openKeys[k] {
		return k
	}
	domain, name, ok := strings.Cut(k, "/")
	switch {
	case !ok:
		return r.name("label key", k)
	case openDomains[domain]:
		return domain + "/" + r.name("label key", name)
	}
	return r.name("domain", domain) + "/" + r.name("label key", name)
}

// labelValue rewrites the value that a label or a taint of the key (the original one) has.
func (r *rewriter) labelValue(key, v string) string {
	known := openValues[key]
	switch {
	case v == "", plainValues[v], known != nil && known(v), r.keepLabels[key]:
		return v
	case r.numeric[key] && isInteger(v):
		return r.number(v)
	case key == corev1.LabelMetadataName:
		return r.namespace(v)
	}
	return r.name("label value", v)
}

func (r *rewriter) labelValues(key string, values []string) {
	for i := range values {
		values[i] = r.labelValue(key, values[i])
	}
}

func (r *rewriter) labels(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[r.labelKey(k)] = r.labelValue(k, v)
	}
	return out
}

func (r *rewriter) annotations(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[r.labelKey(k)] = r.annotation(k, v)
	}
	return out
}

// annotation rewrites the value of an annotation of the key (the original one). Amounts stay where the key is known: they are
// options.
func (r *rewriter) annotation(key, v string) string {
	domain, name, _ := strings.Cut(key, "/")
	switch {
	case v == "", plainValues[v], r.keepLabels[key], openKeys[key] && isAmount(v), annotatedBytes[key] && quantityForm.MatchString(v):
		return v
	case key == v1alpha1.BoundsFromAnnotation && v == v1alpha1.BoundsFromNodes:
		return v
	case key == "capacity.cluster-autoscaler.kubernetes.io/gpu-type":
		return r.resource(v)
	case domain == "capacity.cluster-autoscaler.kubernetes.io" && (name == "labels" || name == "taints"):
		return r.pairs(v)
	case strings.HasSuffix(key, "storage-provisioner"), strings.HasSuffix(key, "/provisioned-by"), strings.HasSuffix(key, "/migrated-to"):
		return r.open("driver", v, openDrivers)
	case strings.HasSuffix(key, "/migrated-plugins"):
		list := strings.Split(v, ",")
		for i := range list {
			list[i] = r.open("driver", list[i], openDrivers)
		}
		return strings.Join(list, ",")
	case domain == "scheduler.alpha.kubernetes.io" && name == "node-selector":
		return r.pairs(v)
	case len(v) <= 253 && nameLike.MatchString(v):
		return r.name("annotation", v)
	}
	return r.text(v)
}

// nameLike are values made of names: "shoot--a--b/pool-1", "vol-1,vol-2".
var nameLike = regexp.MustCompile(`^[A-Za-z0-9._/,-]+$`)

// pairs rewrites "key=value,key=value:Effect".
func (r *rewriter) pairs(s string) string {
	list := strings.Split(s, ",")
	for i, p := range list {
		space := p[:len(p)-len(strings.TrimLeft(p, " "))]
		k, v, ok := strings.Cut(strings.TrimLeft(p, " "), "=")
		v, effect, colon := strings.Cut(v, ":")
		list[i] = space + r.labelKey(k)
		if ok {
			list[i] += "=" + r.labelValue(k, v)
		}
		if colon {
			list[i] += ":" + r.effect(effect)
		}
	}
	return strings.Join(list, ",")
}

// attachable begins the resources that count volumes of CSI drivers; migForm are slices of GPUs.
const attachable = corev1.ResourceAttachableVolumesPrefix + "csi-"

var migForm = regexp.MustCompile(`^nvidia\.com/mig-\dg\.\d{1,3}gb(\.me)?$`)

// resource rewrites the name of a resource, of a node or in a quota.
func (r *rewriter) resource(s string) string {
	for _, prefix := range []string{"requests.", "limits."} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return prefix + r.resource(rest)
		}
	}
	domain, _, qualified := strings.Cut(s, "/")
	switch {
	case s == "", openResources[s], migForm.MatchString(s):
		return s
	case qualified && openDomains[domain]:
		return domain + "/" + r.name("resource", s[len(domain)+1:])
	}
	if driver, ok := strings.CutPrefix(s, attachable); ok {
		return attachable + r.open("driver", driver, openDrivers)
	}
	for _, prefix := range []string{corev1.ResourceHugePagesPrefix, corev1.ResourceAttachableVolumesPrefix} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return prefix + r.name("resource", rest)
		}
	}
	if class, rest, ok := strings.Cut(s, ".storageclass.storage.k8s.io/"); ok {
		return r.name("storageclass", class) + ".storageclass.storage.k8s.io/" + r.resource(rest)
	}
	if count, ok := strings.CutPrefix(s, "count/"); ok {
		return "count/" + r.name("resource", count)
	}
	return r.name("resource", s)
}

func (r *rewriter) resources(l corev1.ResourceList) corev1.ResourceList {
	out := make(corev1.ResourceList, len(l))
	for k, v := range l {
		out[corev1.ResourceName(r.resource(string(k)))] = v
	}
	return out
}

func (r *rewriter) apiVersion(s string) string {
	gv, err := schema.ParseGroupVersion(s)
	switch {
	case err != nil:
		return r.name("api version", s)
	case !apiVersionForm.MatchString(gv.Version) && gv.Version != "":
		gv.Version = r.name("api version", gv.Version)
	}
	gv.Group = r.open("api group", gv.Group, openGroups)
	return gv.String()
}

// component is who wrote an event; an instance of it is "<component>-<host>".
func (r *rewriter) component(s string) string {
	if openComponents[s] {
		return s
	}
	best := ""
	for c := range openComponents {
		if strings.HasPrefix(s, c+"-") && len(c) > len(best) {
			best = c
		}
	}
	if best != "" {
		return best + "-" + r.name("component", s[len(best)+1:])
	}
	return r.name("component", s)
}

var inContainer = regexp.MustCompile(`^spec\.(containers|initContainers|ephemeralContainers)\{(.*)\}$`)

func (r *rewriter) fieldPath(s string) string {
	if m := inContainer.FindStringSubmatch(s); m != nil {
		return "spec." + m[1] + "{" + r.name("container", m[2]) + "}"
	}
	return r.text(s)
}

// openSeriesLabels are the labels whose names reveal nothing.
var openSeriesLabels = words(`node pod namespace container node_group nodegroup nodepool instance job resource reason phase condition status
	direction function unit cpu mode device le quantile zone state type result name`)

func (r *rewriter) sample(s *objectlog.Sample) {
	s.ObjectMeta = metav1.ObjectMeta{Name: r.open("series", s.Name, openSeries)}
	out := make(map[string]string, len(s.Spec.Labels))
	for k, v := range s.Spec.Labels {
		key := r.open("series label", k, openSeriesLabels)
		switch {
		case plainValues[v], isAmount(v), openReasons[v], openResources[v]:
			out[key] = v
		default:
			out[key] = r.name("series value", v)
		}
	}
	if s.Spec.Labels != nil {
		s.Spec.Labels = out
	}
}
