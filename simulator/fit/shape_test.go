package fit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// TestShapes: pods that only differ in what no filter plugin reads are of one shape, others are not.
func TestShapes(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		a, b *corev1.Pod
		want bool
	}{
		{"another name", anyPod("a", "plain", "1"), anyPod("b", "plain", "1"), true},
		{"token, environment and hostname of its own", anyPod("a", "token", "1"), anyPod("b", "token", "1"), true},
		{"more cpu", anyPod("a", "plain", "1"), anyPod("b", "plain", "2"), false},
		{"another namespace", anyPod("a", "plain", "1"), anyPod("b", "elsewhere", "1"), false},
		{"bound", anyPod("a", "plain", "1"), boundTo(anyPod("b", "plain", "1"), "n1"), false},
		{"the same claim", anyPod("a", "claim", "1"), anyPod("b", "claim", "1"), true},
		{"a claim of its own", withEphemeral("a"), withEphemeral("b"), false},
		{"another kind of volume", withVolume("a", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x"}}),
			withVolume("b", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "y"}}), false},
	} {
		if got := c.ShapeID(tc.a) == c.ShapeID(tc.b); got != tc.want {
			t.Errorf("%s: one shape %v, want %v", tc.name, got, tc.want)
		}
	}
	mounted := anyPod("m", "token", "1")
	if c.ShapeID(mounted); len(mounted.Spec.Containers[0].VolumeMounts) != 1 || len(mounted.Spec.Containers[0].Env) != 1 || len(mounted.Spec.Volumes) != 1 {
		t.Error("the pod itself was changed")
	}
}

func boundTo(p *corev1.Pod, node string) *corev1.Pod {
	p.Spec.NodeName = node
	return p
}

func withVolume(name string, v corev1.VolumeSource) *corev1.Pod {
	p := anyPod(name, "plain", "1")
	p.UID = types.UID(name)
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: v}}
	return p
}

func withEphemeral(name string) *corev1.Pod {
	return withVolume(name, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})
}

// TestShapeSurvivesResets: a pod known for long and one met for the first time are of one shape.
func TestShapeSurvivesResets(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	old := anyPod("a", "plain", "1")
	for range 4 {
		c.ShapeID(old)
		if err := c.Reset(&scalehist.Objects{}, nil, func(string) []*corev1.Pod { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if c.ShapeID(old) != c.ShapeID(anyPod("b", "plain", "1")) {
		t.Error("two shapes, the known pod first")
	}
	c.ShapeID(old)
	for range 2 {
		if err := c.Reset(&scalehist.Objects{}, nil, func(string) []*corev1.Pod { return nil }); err != nil {
			t.Fatal(err)
		}
		c.ShapeID(old)
	}
	if err := c.Reset(&scalehist.Objects{}, nil, func(string) []*corev1.Pod { return nil }); err != nil {
		t.Fatal(err)
	}
	if fresh := c.ShapeID(anyPod("c", "plain", "1")); fresh != c.ShapeID(old) {
		t.Error("two shapes, the new pod first")
	}
}
