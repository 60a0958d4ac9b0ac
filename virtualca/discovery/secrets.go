package discovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/scalehist/scalehist/internal/decode"
)

// The Secrets of clusters: their label, and the keys of their data. The name of the Secret is the cluster's.
const (
	SecretLabel   = "autoscaling=true"
	infoKey       = "info"
	kubeconfigKey = "kubeconfig"
)

// resync is how often all Secrets are looked at again.
const resync = 10 * time.Minute

// Secrets keeps the labelled Secrets of a namespace in a registry, until ctx ends: an informer lists them, watches, and begins again when a watch
// ends. What was deleted while nobody watched is taken out first. said hears of Secrets that are no clusters; none of their text is in it.
func Secrets(ctx context.Context, client kubernetes.Interface, namespace string, r *Registry, said func(text string, err error)) error {
	source := "secret/" + namespace
	factory := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = SecretLabel }))
	secrets := factory.Core().V1().Secrets()
	put := func(o any) {
		s, ok := o.(*corev1.Secret)
		if !ok {
			return
		}
		in, err := fromSecret(s)
		if err == nil {
			_, _, err = r.Put(ctx, source, in)
		}
		if err != nil && ctx.Err() == nil {
			said(fmt.Sprintf("Secret %s/%s is not listed as a cluster", namespace, s.Name), err)
			if err := r.Remove(ctx, source, s.Name); err != nil && !errors.Is(err, ErrUnknown) { // what it was before does not hold any more
				said("cluster "+s.Name, err)
			}
		}
	}
	remove := func(name string) {
		if err := r.Remove(ctx, source, name); err != nil && !errors.Is(err, ErrUnknown) && ctx.Err() == nil {
			said("cluster "+name, err)
		}
	}
	handle, err := secrets.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: put, UpdateFunc: func(_, o any) { put(o) },
		DeleteFunc: func(o any) {
			if _, name, err := cache.SplitMetaNamespaceKey(keyOf(o)); err == nil {
				remove(name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch Secrets of %s: %w", namespace, err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), handle.HasSynced) {
		return nil
	}
	known := r.List() // before the Secrets are: what comes meanwhile is among those
	there, err := secrets.Lister().Secrets(namespace).List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Secrets of %s: %w", namespace, err)
	}
	names := map[string]bool{}
	for _, s := range there {
		names[s.Name] = true
	}
	for _, c := range known {
		if c.Source == source && !names[c.Name] {
			remove(c.Name)
		}
	}
	<-ctx.Done()
	return nil
}

func keyOf(o any) string {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o)
	if err != nil {
		return ""
	}
	return key
}

// fromSecret reads a cluster out of a Secret.
func fromSecret(s *corev1.Secret) (in Registration, err error) {
	info, ok := s.Data[infoKey]
	if !ok {
		return in, fmt.Errorf("%w: there is no key %q in it", ErrInvalid, infoKey)
	}
	if err := decode.JSON(info, &in.Cluster); err != nil {
		return in, fmt.Errorf("%w: key %q: %w", ErrInvalid, infoKey, err)
	}
	in.Name, in.Kubeconfig = s.Name, string(s.Data[kubeconfigKey])
	return in, nil
}
