package doctor

import "slices"

// Rules is the table of rules, by code. The hundreds are subjects: 0 the file, 1 the recording and its clock, 2 objects
// that others refer to, 3 node groups, 4 the autoscaler's settings, 5 what the autoscaler was seen to do, 6 what a
// replay does not model, 7 metrics.
func Rules() []Rule {
	return slices.Concat(fileRules, recordingRules, clockRules, referenceRules, objectRules, podRules, groupRules, settingsRules, eventRules, modelRules, metricRules)
}
