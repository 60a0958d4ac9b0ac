package operator

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist/internal/leader"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/remote"
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// write writes a status by the status subresource, if it is another than the one that is there. That somebody else has written since the VPA was
// read is an error: the next round decides again.
func (o *Operator) write(ctx context.Context, s *state, status vpav1.VerticalPodAutoscalerStatus) (bool, error) {
	if same(&s.vpa.Status, &status) {
		return false, nil
	}
	if err := o.fence.Check(); err != nil {
		return false, err
	}
	patch, err := json.Marshal([]operation{{"replace", "/metadata/resourceVersion", s.vpa.ResourceVersion}, {"add", "/status", status}})
	if err != nil {
		return false, err
	}
	_, err = o.vpas.AutoscalingV1().VerticalPodAutoscalers(s.vpa.Namespace).Patch(ctx, s.vpa.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: Name}, "status")
	if err != nil {
		return false, fmt.Errorf("status of VerticalPodAutoscaler %s/%s: %w", s.vpa.Namespace, s.vpa.Name, err)
	}
	return true, nil
}

// stateAnnotation has what recommenders other than vpa remember: gzip in base64. Their checkpoint is named VPA.RECOMMENDER, which no checkpoint
// of a container is.
const stateAnnotation = "scalehist.io/recommender-state"

// mostState bounds it: all annotations of an object may have 256 KiB.
const (
	mostState = 200 << 10
	mostRead  = 64 << 20 // unzipped
)

// load makes the recommender of a VPA, with what its checkpoints have.
func (o *Operator) load(ctx context.Context, s *state) error {
	var err error
	name := types.NamespacedName{Namespace: s.vpa.Namespace, Name: s.vpa.Name}
	if s.recommender, err = o.options.Recommender.Maker(vertical.Workload{Namespace: name.Namespace, Name: name.Name, VPA: s.vpa}); err != nil {
		return fmt.Errorf("recommender of VerticalPodAutoscaler %s: %w", name, err)
	}
	saved, err := o.stored(ctx, name)
	if err != nil {
		return fmt.Errorf("checkpoints of VerticalPodAutoscaler %s: %w", name, err)
	}
	if saved == nil {
		return nil
	}
	if err := s.recommender.Load(saved); errors.Is(err, remote.ErrSilent) {
		return fmt.Errorf("checkpoint of VerticalPodAutoscaler %s: %w", name, err) // it is loaded in a later round
	} else if err != nil {
		s.recommender.Reset()
		leader.LogOf(ctx).Info("Checkpoint not loaded: begins without history", "vpa", name, "reason", err.Error())
		return nil
	}
	s.seen = true
	return nil
}

// stored is what was saved for a VPA, as Recommender.Load reads it; nil is nothing.
func (o *Operator) stored(ctx context.Context, vpa types.NamespacedName) (io.Reader, error) {
	client := o.vpas.AutoscalingV1().VerticalPodAutoscalerCheckpoints(vpa.Namespace)
	if !o.native() {
		c, err := client.Get(ctx, o.checkpointName(vpa.Name), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // as documented
		}
		if err != nil {
			return nil, err
		}
		return &unzipped{text: c.Annotations[stateAnnotation]}, nil
	}
	var own []vpav1.VerticalPodAutoscalerCheckpoint
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := client.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, c := range list.Items {
			if c.Spec.VPAObjectName == vpa.Name && c.Spec.ContainerName != "" {
				own = append(own, c)
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if len(own) == 0 {
		return nil, nil //nolint:nilnil // as documented
	}
	data, err := json.Marshal(own)
	return bytes.NewReader(data), err
}

// unzipped reads an annotation, whose errors are those of what is read.
type unzipped struct {
	text   string
	reader io.Reader
}

// Read implements io.Reader.
func (u *unzipped) Read(p []byte) (int, error) {
	if u.reader == nil {
		r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(u.text)))
		if err != nil {
			return 0, fmt.Errorf("annotation %s: %w", stateAnnotation, err)
		}
		u.reader = io.LimitReader(r, mostRead)
	}
	return u.reader.Read(p)
}

// native says whether the recommender's state is upstream's checkpoints.
func (o *Operator) native() bool { return o.options.Recommender.Name == "vpa" }

func (o *Operator) checkpointName(vpa string) string { return vpa + "." + o.options.Recommender.Name }

// checkpoint writes what recommenders remember. What fails about one does not concern the others.
func (o *Operator) checkpoint(ctx context.Context, now time.Time) error {
	o.saved = now
	if !o.options.Write {
		return nil
	}
	var errs []error
	for _, s := range o.states {
		if s.recommender == nil || !s.seen {
			continue
		}
		if err := o.save(ctx, s, now); err != nil {
			errs = append(errs, fmt.Errorf("checkpoint of VerticalPodAutoscaler %s/%s: %w", s.vpa.Namespace, s.vpa.Name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func (o *Operator) save(ctx context.Context, s *state, now time.Time) error {
	var saved bytes.Buffer
	if err := s.recommender.Save(&saved, now); err != nil {
		return err
	}
	// A checkpoint ends with its VPA.
	owner := []metav1.OwnerReference{{APIVersion: vpav1.SchemeGroupVersion.String(), Kind: "VerticalPodAutoscaler", Name: s.vpa.Name, UID: s.vpa.UID}}
	if o.native() {
		var list []*vpav1.VerticalPodAutoscalerCheckpoint
		if err := json.Unmarshal(saved.Bytes(), &list); err != nil {
			return err
		}
		for _, c := range list {
			c.OwnerReferences = owner
			if err := o.put(ctx, c, []operation{{"add", "/status", c.Status}}); err != nil {
				return err
			}
		}
		return nil
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(saved.Bytes()); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	text := base64.StdEncoding.EncodeToString(zipped.Bytes())
	if len(text) > mostState {
		return fmt.Errorf("the state of recommender %s has %d bytes: at most %d fit into an annotation", o.options.Recommender, len(text), mostState)
	}
	annotations := map[string]string{stateAnnotation: text}
	c := &vpav1.VerticalPodAutoscalerCheckpoint{ObjectMeta: metav1.ObjectMeta{Namespace: s.vpa.Namespace, Name: o.checkpointName(s.vpa.Name), Annotations: annotations, OwnerReferences: owner},
		Spec: vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: s.vpa.Name}}
	return o.put(ctx, c, []operation{{"add", "/metadata/annotations", annotations}})
}

// put changes a checkpoint, or creates it.
func (o *Operator) put(ctx context.Context, c *vpav1.VerticalPodAutoscalerCheckpoint, change []operation) error {
	if err := o.fence.Check(); err != nil {
		return err
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	client := o.vpas.AutoscalingV1().VerticalPodAutoscalerCheckpoints(c.Namespace)
	_, err = client.Patch(ctx, c.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: Name})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, c, metav1.CreateOptions{FieldManager: Name})
	}
	return err
}
