// Package intake asks an API server what it would refuse of the objects that a replay would write, before there is a replay.
// It must not know autoscalers, the loop of a replay, or where the objects were recorded.
package intake
