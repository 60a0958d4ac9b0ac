// Package truth reads truth files, which hold what a real cluster-autoscaler was seen to do with one load in several
// runs, and judges replay reports by them.
//
// The real thing is not deterministic, so a truth is a set: the outcomes (sums of scale-ups and scale-downs, final sizes,
// pods left unschedulable) that its runs ended with, and the first steps that all runs took alike. A step is what one loop
// changed of the target sizes, taken together. A replay agrees when its outcome is one of the set and it begins with
// these steps, each within one scan interval of the times at which the runs took it.
//
// The package reads files and reports, and knows neither histories nor clusters.
package truth
