package calls

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// Kind is the only kind of such a history.
const Kind = "ProviderCall"

// Changes are the methods that ask for a change. All others are questions.
func changes(method string) bool {
	switch method {
	case "NodeGroupIncreaseSize", "NodeGroupDeleteNodes", "NodeGroupDecreaseTargetSize", "Cleanup":
		return true
	}
	return false
}

// Log writes calls into a history. It is safe for concurrent use.
type Log struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	w     *history.Writer
	// answers are what questions were answered last, by the object's name.
	answers map[string]v1alpha1.ProviderCallSpec
	changes int
	err     error
	failed  chan struct{}
}

// Create makes a history of calls at path, which must not be there yet. Close it.
func Create(ctx context.Context, path, cluster string, c clock.PassiveClock) (*Log, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("record calls: %s is there already: give another name, or remove it", path)
	}
	w, err := history.Create(ctx, path, history.Options{Cluster: cluster, Source: "provider"})
	if err != nil {
		return nil, err
	}
	if _, err := w.Begin(ctx, c.Now(), []string{Kind}); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &Log{clock: c, w: w, answers: map[string]v1alpha1.ProviderCallSpec{}, failed: make(chan struct{})}, nil
}

// Called records one call. It never fails for the caller: the first error is kept for Close, and nothing is recorded after it.
func (l *Log) Called(method string, request, response proto.Message, callErr error) {
	spec := v1alpha1.ProviderCallSpec{Method: method}
	var err error
	if spec.Request, err = text(request); err == nil && callErr == nil {
		spec.Response, err = text(response)
	}
	if s := status.Convert(callErr); s.Code() != codes.OK {
		spec.Code, spec.Message = s.Code().String(), s.Message()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if err == nil {
		err = l.write(spec)
	}
	if err != nil {
		l.err = fmt.Errorf("record the call of %s: %w", method, err)
		close(l.failed)
	}
}

// Failed is closed when a call could not be recorded, such as on a full disk. Close says why.
func (l *Log) Failed() <-chan struct{} { return l.failed }

func (l *Log) write(spec v1alpha1.ProviderCallSpec) error {
	o := &v1alpha1.ProviderCall{Spec: spec}
	op := scalehist.OpAdd
	if changes(spec.Method) {
		l.changes++
		o.Name = fmt.Sprintf("%s-%06d", spec.Method, l.changes)
	} else {
		sum := sha256.Sum256([]byte(spec.Request))
		o.Name = fmt.Sprintf("%s-%x", spec.Method, sum[:8])
		before, asked := l.answers[o.Name]
		if asked && before == spec {
			return nil
		}
		if asked {
			op = scalehist.OpUpdate
		}
		l.answers[o.Name] = spec
	}
	o.UID = types.UID(o.Name)
	now := l.clock.Now()
	return l.w.Write(context.Background(), []history.Entry{{ObservedAt: now, Change: scalehist.Change{At: now, Op: op, Object: o}}})
}

// Close ends the history and returns the first error there was.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.Join(l.err, l.w.End(context.Background(), l.clock.Now()), l.w.Close())
	l.err = io.ErrClosedPipe
	return err
}

// text is a message as JSON without spaces: protojson puts some in at random, so that nobody relies on its bytes.
func text(m proto.Message) (string, error) {
	raw, err := protojson.Marshal(m)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return "", err
	}
	return out.String(), nil
}
