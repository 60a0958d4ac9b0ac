package hpa

import (
	"fmt"
	"time"
)

// stabilize is for a spec without behavior: the highest recommendation of the window holds. The bounds of the window belong to it.
func (s *sync) stabilize(wanted int32) (int32, cause) {
	window := s.options.DownscaleStabilization
	cutoff := s.now.Add(-window)
	old := func(r recommendation) bool { return r.at.Before(cutoff) }
	highest := s.memory.highest(wanted, func(r recommendation) bool { return !old(r) })
	s.memory.recommend(recommendation{wanted, s.now}, old)
	return highest.replicas, stabilizedDown(s.recommended("highest", window, highest))
}

// stabilizeByRules is for a spec with a behavior: the size there is moves up to the lowest recommendation of the window for scaling up, and
// down to the highest of the window for scaling down. The bounds of a window do not belong to it, so one of 0 s has none.
func (s *sync) stabilizeByRules(wanted int32) (int32, cause) {
	b, current := s.hpa.Spec.Behavior, s.target.SpecReplicas
	up, down := seconds(*b.ScaleUp.StabilizationWindowSeconds), seconds(int32(s.options.DownscaleStabilization.Seconds()))
	if w := b.ScaleDown.StabilizationWindowSeconds; w != nil {
		down = seconds(*w)
	}
	upCutoff, downCutoff := s.now.Add(-up), s.now.Add(-down)
	lowest := s.memory.lowest(wanted, func(r recommendation) bool { return r.at.After(upCutoff) })
	highest := s.memory.highest(wanted, func(r recommendation) bool { return r.at.After(downCutoff) })
	s.memory.recommend(recommendation{wanted, s.now}, func(r recommendation) bool {
		return r.at.Before(upCutoff) && r.at.Before(downCutoff)
	})
	size := min(max(current, lowest.replicas), highest.replicas)
	if wanted >= current {
		return size, stabilizedUp(s.recommended("lowest", up, lowest))
	}
	return size, stabilizedDown(s.recommended("highest", down, highest))
}

// recommended says where a recommendation of a window comes from.
func (s *sync) recommended(which string, window time.Duration, r recommendation) string {
	if r.at.IsZero() {
		return fmt.Sprintf("the %s of the last %s", which, window)
	}
	return fmt.Sprintf("the %s of the last %s, %d, is %s old", which, window, r.replicas, s.now.Sub(r.at))
}
