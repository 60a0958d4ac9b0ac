package realca

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// The client limits of kube-scheduler (ClientConnection of its configuration).
const (
	schedulerQPS   = 50
	schedulerBurst = 100
)

// startScheduler runs the real kube-scheduler with its default profile until ctx ends.
func startScheduler(ctx context.Context, cfg *rest.Config) error {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = schedulerQPS, schedulerBurst
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(cfg, "scheduler"))
	if err != nil {
		return err
	}
	eventClient, err := kubernetes.NewForConfig(rest.AddUserAgent(cfg, "events"))
	if err != nil {
		return err
	}
	f := scheduler.NewInformerFactory(client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: eventClient.EventsV1()})
	s, err := scheduler.New(ctx, client, f, nil, profile.NewRecorderFactory(broadcaster))
	if err != nil {
		return fmt.Errorf("create scheduler: %w", err)
	}
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("record the scheduler's events: %w", err)
	}
	f.Start(ctx.Done())
	f.WaitForCacheSync(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil {
		return fmt.Errorf("start scheduler: %w", err)
	}
	go s.Run(ctx)
	return nil
}
