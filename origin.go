package scalehist

// Origin says what a history is evidence of, and so what agreement with it can mean.
type Origin string

const (
	// OriginRecorded: the recorder watched a live cluster.
	OriginRecorded Origin = "recorded"
	// OriginImported: it came as an object log, which does not say who made it.
	OriginImported Origin = "imported"
	// OriginScripted: the recorder watched a virtual cluster that a script played, with scalehist's own autoscaler. What it
	// shows is what that autoscaler did: a replay that agrees with it has not changed, which does not make it right.
	OriginScripted Origin = "scripted"
)
