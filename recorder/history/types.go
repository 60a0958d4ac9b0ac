package history

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// Options are what Create writes into a new history. When an existing one is continued only Identity counts.
type Options struct {
	// Cluster names the cluster the history is of.
	Cluster string
	// Identity is the cluster's alone: the UID of its namespace kube-system, or VirtualIdentity. It is kept with the first
	// recording; a history of another cluster is refused with OtherClusterError. Empty if it is not known.
	Identity string
	// Source says who writes: "recorder v0.3", "import of trace.jsonl".
	Source string
	// Origin says what the history is evidence of; empty: a live cluster, or one in virtual time, as Identity says.
	Origin scalehist.Origin
	// unsynced leaves it to the caller to sync the finished file: a crash before that may damage it.
	unsynced bool
}

// Entry is one change to write.
type Entry struct {
	// ObservedAt is when the change was seen; it bounds the version's validity. Zero means Change.At.
	ObservedAt time.Time
	// Change.At is the object's own time of the change, as far as the source can tell (creation, deletion, last
	// transition). Zero means ObservedAt.
	Change scalehist.Change
}

// Recording is one uninterrupted stretch in which a recorder watched kinds.
type Recording struct {
	ID   int64     `json:"id"`
	From time.Time `json:"from"`
	// To is zero while the recording is open, and when the recorder died.
	To    time.Time `json:"to,omitzero"`
	Kinds []string  `json:"kinds,omitempty"`
}

// Gap is a stretch [From, To) in which Kinds were not watched; no kinds means all of them.
type Gap struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Kinds []string  `json:"kinds,omitempty"`
	Why   string    `json:"why"`
}

// Usage is what a container used at an instant.
type Usage struct {
	At          time.Time            `json:"at"`
	Pod         types.NamespacedName `json:"pod"`
	Container   string               `json:"container"`
	CPUMilli    int64                `json:"cpuMilli"`
	MemoryBytes int64                `json:"memoryBytes"`
}

// Sample is one value of a named metric series.
type Sample struct {
	Series string            `json:"series"`
	Labels map[string]string `json:"labels,omitempty"`
	At     time.Time         `json:"at"`
	Value  float64           `json:"value"`
}

// Event is a recorded Kubernetes event, of either API, in its last recorded state within the filter's window.
type Event struct {
	// ObservedAt is when it was first seen, LastObservedAt when its last recorded repetition was.
	ObservedAt     time.Time `json:"observedAt"`
	LastObservedAt time.Time `json:"lastObservedAt"`
	// At is the event's own time: eventTime, else firstTimestamp, else creation. LastAt is that of the last repetition.
	At     time.Time `json:"at"`
	LastAt time.Time `json:"lastAt"`
	// Count is how often it happened, at least 1.
	Count     int32     `json:"count"`
	UID       types.UID `json:"uid"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Type      string    `json:"type"`
	Reason    string    `json:"reason"`
	Action    string    `json:"action,omitempty"`
	Message   string    `json:"message"`
	// Component is the reporting controller or source component: "cluster-autoscaler".
	Component string `json:"component"`
	// Regarding is what it is about; Related the other object, if any (the preemptor).
	Regarding corev1.ObjectReference  `json:"regarding"`
	Related   *corev1.ObjectReference `json:"related,omitempty"`
}

// EventFilter selects events seen with From < at <= To; zero bounds are open. No Reasons means all.
type EventFilter struct {
	From, To time.Time
	Reasons  []string
}

// KindStats counts what is stored of one kind.
type KindStats struct {
	Kind     string `json:"kind"`
	Objects  int64  `json:"objects"`
	Versions int64  `json:"versions"`
	Contents int64  `json:"contents"`
}

// ReasonCount counts the events of one reason; Occurrences adds up their repetitions.
type ReasonCount struct {
	Reason      string `json:"reason"`
	Events      int64  `json:"events"`
	Occurrences int64  `json:"occurrences"`
}

// Stats counts what a history holds, sorted by kind and reason.
type Stats struct {
	Kinds     []KindStats   `json:"kinds"`
	Events    []ReasonCount `json:"events"`
	Usages    int64         `json:"usages"`
	Samples   int64         `json:"samples"`
	FileBytes int64         `json:"fileBytes"`
}

// WriteCounts says what a Writer did with the entries it was given.
type WriteCounts struct {
	// Added, Updated and Deleted are versions written; Unchanged entries changed nothing that is kept.
	Added, Updated, Deleted, Unchanged int64
	// Events counts new events and repetitions that brought news.
	Events int64
	// Replaced counts objects whose deletion was not seen: another UID took their name.
	Replaced int64
	// UnknownDeletes counts deletes of objects the history does not know; they are ignored.
	UnknownDeletes int64
	// UnknownUpdates counts updates of objects the history does not know; they are taken as adds.
	UnknownUpdates int64
	// Clamped counts entries older than what is already written of their object; they take its instant.
	Clamped int64
	// Left counts objects that are left out by rule (Secrets, other ConfigMaps, Leases), by kind.
	Left map[string]int64
}
