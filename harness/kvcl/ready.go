package kvcl

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// fateTimeout is how long to wait to learn how a process ended that has; the kernel says so at once, or somebody else.
const fateTimeout = time.Second

// waitReady asks for a pod until the API server answers, or envtest gives up.
func (p *processes) waitReady(ctx context.Context) error {
	transport, err := rest.HTTPClientFor(p.config)
	if err != nil {
		return err
	}
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	late := time.NewTimer(bootTimeout)
	defer late.Stop()
	started := p.started
	for {
		ok, err := p.servesPods(ctx, transport)
		if err != nil {
			return err
		}
		if ok {
			return p.died() // whose end is reported later must have been seen once
		}
		select {
		case err := <-started:
			// It is there for stop, too; looking at it again and again would be a busy wait.
			p.started <- err
			started = nil
			if err != nil {
				if died := p.died(); died != nil {
					return died
				}
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("kube-apiserver does not serve pods after %s", bootTimeout)
		case <-tick.C:
			// envtest says less: that the start failed.
			if died := p.died(); died != nil {
				return died
			}
		}
	}
}

// servesPods asks the API server for a pod. An answer that does not come in time is no answer.
func (p *processes) servesPods(ctx context.Context, c *http.Client) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, p.requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.config.Host+"/api/v1/pods?limit=1", nil)
	if err != nil {
		return false, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return false, nil
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK, nil
}

// diedError is a process that ended before it was ready.
type diedError struct{ name, fate string }

func (e *diedError) Error() string {
	if e.fate == "" {
		return e.name + " ended before it was ready"
	}
	return fmt.Sprintf("%s ended before it was ready: it %s", e.name, e.fate)
}

// died looks for a process that has ended; nil if there is none. It watches over those it sees for the first time.
func (p *processes) died() error {
	// Each link is read once: a process that starts between two looks has not died.
	now := map[string]int{}
	for _, name := range childNames {
		now[name] = p.home.PID(p.links[name])
		if p.pids[name] == 0 && now[name] != 0 {
			p.pids[name], p.fates[name] = now[name], watchFate(now[name])
		}
	}
	for _, name := range childNames {
		// Another process under the link took the place of one that has ended.
		if p.pids[name] == now[name] && !p.home.Died(p.links[name]) {
			continue
		}
		err := &diedError{name: name}
		select {
		case err.fate = <-p.fates[name]:
			p.fates[name] <- err.fate // for who asks next
		case <-time.After(fateTimeout):
		}
		return err
	}
	return nil
}
