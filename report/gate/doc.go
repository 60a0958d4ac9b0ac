// Package gate says whether a candidate may replace a baseline: it matches the replay reports of two directories by
// scenario, holds the change of each metric against the limits of a policy, and explains every violation down to the first
// decision that differs. A policy is YAML; what it does not know is refused. The verdict is a value that is printed as a
// table, Markdown, JUnit or GitHub annotations. It replays nothing.
package gate
