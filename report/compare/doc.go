// Package compare puts replay reports of one recording side by side: node groups and zones, every metric with its change,
// nodes over time, and for each pair the first decision that differs with both explanations. The first report is the
// baseline. It reads reports and nothing else; whether a change is acceptable is for package gate to say.
package compare
