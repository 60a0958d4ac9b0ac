package recall

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// score fills the totals of the candidates, up to what is the same for all of them.
func (c *cycle) score(lister fwk.NodeInfoLister) (why string) {
	fit := c.fit
	for i := range fit {
		fit[i].total = fit[i].fixed
	}
	for i, sc := range c.plugins.scorers {
		if sc.slot < 0 || c.shape.silent[i] || c.differ[sc.slot] == 0 {
			continue
		}
		list := c.list()
		for j := range fit {
			list[j].Score = fit[j].raw[sc.slot]
		}
		if !c.add(sc, c.shape.scored, list) {
			return "score failed"
		}
	}
	if c.nodes.withImages > 0 && !c.scoreImages() {
		return "score failed"
	}
	with, err := lister.HavePodsWithAffinityList()
	if err != nil {
		return "score failed"
	}
	if len(with) > 0 && !c.scoreAffinity() {
		return "score failed"
	}
	c.spread.score(c)
	return ""
}

// list is a list of scores of the candidates, to be used at once.
func (c *cycle) list() fwk.NodeScoreList {
	list := c.scores[:0]
	for i := range c.fit {
		list = append(list, fwk.NodeScore{Name: c.fit[i].name})
	}
	c.scores = list
	return list
}

// add normalises scores and adds them, weighted.
func (c *cycle) add(sc scorer, state fwk.CycleState, list fwk.NodeScoreList) bool {
	if ext := sc.ScoreExtensions(); ext != nil {
		if st := ext.NormalizeScore(c.ctx, state, c.pod, list); !st.IsSuccess() {
			return false
		}
	}
	for i := range list {
		if !valid(list[i].Score) {
			return false
		}
		c.fit[i].total += list[i].Score * sc.weight
	}
	return true
}

// scoreImages asks about the nodes with images only: another has none of the pod's, which scores 0. It is never remembered,
// since it depends on how many nodes there are.
func (c *cycle) scoreImages() bool {
	if c.plugins.images.ScorePlugin == nil {
		return true
	}
	list := c.list()
	for i := range c.fit {
		if !c.fit[i].hasImages {
			continue
		}
		score, st := c.plugins.images.Score(c.ctx, c.state, c.pod, c.fit[i].info)
		if !st.IsSuccess() {
			return false
		}
		list[i].Score = score
	}
	return c.add(c.plugins.images, c.state, list)
}

// scoreAffinity asks what placed pods prefer of this one. Without placed pods that have any affinity nobody does.
func (c *cycle) scoreAffinity() bool {
	sc := c.plugins.affinity
	if sc.ScorePlugin == nil {
		return true
	}
	infos := c.infos[:0]
	for i := range c.fit {
		infos = append(infos, c.fit[i].info)
	}
	c.infos = infos
	switch st := sc.ScorePlugin.(fwk.PreScorePlugin).PreScore(c.ctx, c.state, c.pod, infos); {
	case st.IsSkip():
		return true
	case !st.IsSuccess():
		return false
	}
	list := c.list()
	for i := range c.fit {
		score, st := sc.Score(c.ctx, c.state, c.pod, c.fit[i].info)
		if !st.IsSuccess() {
			return false
		}
		list[i].Score = score
	}
	return c.add(sc, c.state, list)
}
