package operator

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// logOf is the logger of a context, else klog's. It does not ask klog for it: a virtual control plane in the same process turns that off for all of the
// process (klog.EnableContextualLogging).
func logOf(ctx context.Context) logr.Logger {
	if l, err := logr.FromContext(ctx); err == nil {
		return l
	}
	return klog.Background()
}
