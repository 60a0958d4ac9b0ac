package vertical

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist/internal/spec"
	"github.com/scalehist/scalehist/recommender/vertical/remote"
)

var urlKind = Kind{
	Name:  "url",
	About: "a recommender elsewhere, in any language, over HTTP (docs/vertical.openapi.json): url:http://127.0.0.1:8610,timeout=5s",
	Options: []Option{
		{Name: "at", About: "its address, http or https; it may come first without a name"},
		{Name: "timeout", Default: "10s", About: "how long an answer may take"},
		{Name: "every", Default: "0s", About: "how often it is asked at most; what it recommended holds in between"},
		{Name: "token-file", About: "file with a bearer token in its first line"},
	},
	First: "at",
	Make: func(o *spec.Values) Maker {
		timeout, every, token := o.Duration("timeout", time.Millisecond), o.Duration("every", 0), ""
		if path := o.Text("token-file"); path != "" {
			data, err := os.ReadFile(path)
			if err != nil && o.Err == nil {
				o.Err = fmt.Errorf("token-file: %w", err)
			}
			token, _, _ = strings.Cut(string(data), "\n")
		}
		client, err := remote.NewClient(o.Text("at"), strings.TrimSpace(token), timeout)
		if o.Err == nil {
			o.Err = err
		}
		return func(w Workload) (Recommender, error) {
			return &elsewhere{client: client, workload: w, every: every}, nil
		}
	},
}

// elsewhere is a recommender behind HTTP, for one workload. Observations are kept until it is asked, and sent then, many at once.
type elsewhere struct {
	client   *remote.Client
	workload Workload
	every    time.Duration
	// id is the workload's there; empty until it was made there.
	id       string
	observed []remote.Observation
	// reset and changed: it has to be reset there, or has other policies than there.
	reset, changed bool
	// last is what was recommended, at asked.
	last    []Recommendation
	asked   time.Time
	refused remote.Refused
}

var _ Recommender = (*elsewhere)(nil)

// wireAmount leaves out what is not set.
func wireAmount(a Amount) (out remote.Amount) {
	if a.CPUMilli >= 0 {
		out.CPUMilli = &a.CPUMilli
	}
	if a.MemoryBytes >= 0 {
		out.MemoryBytes = &a.MemoryBytes
	}
	return out
}

// AmountOfWire is the inverse; the error names what is negative, or no container can use.
func AmountOfWire(w remote.Amount) (Amount, error) {
	out := None
	for _, v := range []struct {
		name string
		from *int64
		to   *int64
	}{{"cpuMilli", w.CPUMilli, &out.CPUMilli}, {"memoryBytes", w.MemoryBytes, &out.MemoryBytes}} {
		if v.from == nil {
			continue
		}
		if *v.from < 0 || *v.from > mostAmount {
			return None, fmt.Errorf("%s %d: want 0 to 10^15", v.name, *v.from)
		}
		*v.to = *v.from
	}
	return out, nil
}

// mostAmount bounds what is recommended, in millicores and bytes, as options do.
const mostAmount = 1e15

// Wire are recommendations as they are on the wire.
func Wire(list []Recommendation) []remote.Recommendation {
	out := make([]remote.Recommendation, 0, len(list))
	for _, r := range list {
		lower, upper := wireAmount(r.Lower), wireAmount(r.Upper)
		out = append(out, remote.Recommendation{Container: r.Container, Target: wireAmount(r.Target), Lower: &lower, Upper: &upper})
	}
	return out
}

// Observe implements Recommender. Whether the sample is taken there, Refused says later.
func (u *elsewhere) Observe(s Sample) error {
	if err := s.check(); err != nil {
		return err
	}
	o := remote.Observation{At: s.At.UTC(), Pod: s.Pod, Container: s.Container, OOM: s.OOM}
	if s.OOM {
		o.RequestedBytes = max(0, s.Requested)
	} else {
		o.Amount = wireAmount(s.Usage)
	}
	u.observed = append(u.observed, o)
	return nil
}

// Forget ends a pod.
func (u *elsewhere) Forget(pod string) {
	at := u.asked
	if n := len(u.observed); n > 0 {
		at = u.observed[n-1].At
	}
	u.observed = append(u.observed, remote.Observation{At: at, Pod: pod, Ended: true})
}

// follow takes the policies of a VPA.
func (u *elsewhere) follow(v *vpav1.VerticalPodAutoscaler) { u.workload.VPA, u.changed = v, true }

// Reset implements Recommender.
func (u *elsewhere) Reset() {
	u.observed, u.last, u.asked, u.refused, u.reset = nil, nil, time.Time{}, remote.Refused{}, true
}

// there makes the workload there, with the policies that it has now, and hands over observations but for the last of them, which fit into one
// request.
func (u *elsewhere) there(ctx context.Context) error {
	w := remote.Workload{Namespace: u.workload.Namespace, Name: u.workload.Name, Containers: u.workload.Containers, VPA: u.workload.VPA}
	switch {
	case u.id == "":
		id, err := u.client.Make(ctx, w)
		if err != nil {
			return err
		}
		u.id = id
	case u.reset:
		if err := u.client.Reset(ctx, u.id); err != nil {
			return err
		}
	}
	if u.reset = false; u.changed {
		if err := u.client.Follow(ctx, u.id, w); err != nil {
			return err
		}
		u.changed = false
	}
	for len(u.observed) > remote.MaxObserved {
		if err := u.flush(ctx, remote.MaxObserved); err != nil {
			return err
		}
	}
	return nil
}

// flush hands over the first n observations.
func (u *elsewhere) flush(ctx context.Context, n int) error {
	out, err := u.client.Observe(ctx, u.id, u.observed[:n])
	if err != nil {
		return err
	}
	u.observed = append(u.observed[:0], u.observed[n:]...)
	u.refuse(out.Refused)
	return nil
}

func (u *elsewhere) refuse(r *remote.Refused) {
	if r == nil || r.Number <= 0 {
		return
	}
	u.refused.Number += r.Number
	u.refused.First = cmp.Or(u.refused.First, r.First)
}

// Recommend implements Recommender.
func (u *elsewhere) Recommend(ctx context.Context, now time.Time) ([]Recommendation, error) {
	if !u.asked.IsZero() && now.Before(u.asked.Add(u.every)) {
		return u.last, nil
	}
	if err := u.there(ctx); err != nil {
		return nil, u.lost(err)
	}
	answer, err := u.client.Recommend(ctx, u.id, u.observed, now.UTC())
	if err != nil {
		return nil, u.lost(err)
	}
	u.observed = u.observed[:0]
	u.refuse(answer.Refused)
	list, err := u.read(answer.Recommendations)
	if err != nil {
		return nil, u.client.Wrong("%w", err)
	}
	u.last, u.asked = list, now
	return list, nil
}

// lost is an error of a request. Where the workload is not there any more, the next request makes it again, without history.
func (u *elsewhere) lost(err error) error {
	if remote.Gone(err) {
		u.id = ""
	}
	return err
}

// read takes recommendations from the wire, in order of containers. The error names the one that is wrong.
func (u *elsewhere) read(list []remote.Recommendation) ([]Recommendation, error) {
	var out []Recommendation
	for i, w := range list {
		at := fmt.Sprintf("recommendations[%d]", i)
		if w.Container == "" {
			return nil, fmt.Errorf("%s: container is missing", at)
		}
		if len(u.workload.Containers) > 0 && !slices.Contains(u.workload.Containers, w.Container) {
			return nil, fmt.Errorf("%s: container %q is none of workload %s/%s: want %s", at, w.Container, u.workload.Namespace, u.workload.Name, strings.Join(u.workload.Containers, ", "))
		}
		r := Recommendation{Container: w.Container}
		lower, upper := w.Lower, w.Upper
		for _, bound := range []**remote.Amount{&lower, &upper} {
			if *bound == nil {
				*bound = &w.Target
			}
		}
		for _, a := range []struct {
			name string
			from remote.Amount
			to   *Amount
		}{{"target", w.Target, &r.Target}, {"lower", *lower, &r.Lower}, {"upper", *upper, &r.Upper}} {
			var err error
			if *a.to, err = AmountOfWire(a.from); err != nil {
				return nil, fmt.Errorf("%s.%s.%w", at, a.name, err)
			}
		}
		if r.Target == None {
			return nil, fmt.Errorf("%s.target: cpuMilli and memoryBytes are missing: leave out a container of which too little is known", at)
		}
		r.Lower, r.Upper = r.Lower.Or(r.Target), r.Upper.Or(r.Target)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Recommendation) int { return cmp.Compare(a.Container, b.Container) })
	for i := range out[min(1, len(out)):] {
		if out[i].Container == out[i+1].Container {
			return nil, fmt.Errorf("container %s is recommended for twice", out[i].Container)
		}
	}
	return out, nil
}

// Save implements Recommender; the client's timeout bounds it.
func (u *elsewhere) Save(w io.Writer, now time.Time) error {
	ctx := context.Background()
	err := u.there(ctx)
	if err == nil && len(u.observed) > 0 {
		err = u.flush(ctx, len(u.observed))
	}
	if err != nil {
		return err
	}
	state, err := u.client.Save(ctx, u.id, now)
	if err != nil {
		return err
	}
	_, err = w.Write(state)
	return err
}

// Load implements Recommender.
func (u *elsewhere) Load(r io.Reader) error {
	state, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	u.Reset()
	u.reset = false // it is replaced
	if err := u.there(context.Background()); err != nil {
		return err
	}
	return u.client.Load(context.Background(), u.id, state)
}

// close has the workload removed there. It is not waited for longer than an answer may take, and nobody misses an answer that is none.
func (u *elsewhere) close() {
	if u.id != "" {
		_ = u.client.Remove(context.Background(), u.id)
		u.id = ""
	}
}
