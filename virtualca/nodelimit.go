package virtualca

// limit is the fewest of the thresholds: 0 is none, a negative one allows nothing.
func limit(thresholds ...int) int {
	least := 0
	for _, t := range thresholds {
		switch {
		case least < 0 || t < 0:
			least = -1
		case t > 0 && (least == 0 || t < least):
			least = t
		}
	}
	return least
}

// nodeLimit is the most new nodes an estimate for a group may use: --max-nodes-per-scaleup, the free size of the group
// and those similar to it, and what --max-nodes-total leaves.
func (l *loop) nodeLimit(group string, similar []string) int {
	free := l.group[group].MaxSize - l.group[group].TargetSize
	for _, s := range similar {
		free += l.group[s].MaxSize - l.group[s].TargetSize
	}
	cluster := 0
	if total := l.a.settings.MaxNodesTotal; total > 0 {
		cluster = total - l.a.checker.Snapshot().Len()
		if cluster <= 0 {
			cluster = -1
		}
	}
	return limit(l.a.settings.MaxNodesPerScaleUp, free, cluster)
}

// guessedLimit is the remark that the limit an estimate stopped at is a guess; "" where it is not, or another limit is lower.
func (l *loop) guessedLimit(group string, similar []string, nodes int) string {
	free, note := l.group[group].MaxSize-l.group[group].TargetSize, l.group[group].GuessNote()
	for _, s := range similar {
		free += l.group[s].MaxSize - l.group[s].TargetSize
		if note == "" {
			note = l.group[s].GuessNote()
		}
	}
	if nodes < free {
		return ""
	}
	return note
}
