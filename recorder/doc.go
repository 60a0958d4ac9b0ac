// Package recorder watches a Kubernetes cluster and writes what scaling depends on into a history.
//
// It needs nothing but a kubeconfig: every kind is listed and watched as kubectl would. What is watched goes through
// one bounded queue to one writer, which commits batches in one transaction each; when the writer is behind, the
// watches wait. Nothing of an object is kept here but its name, UID and resource version.
//
//   - Recording start: the instant at which every kind's first list had arrived. All of them are written with that
//     instant, so the history's first state is one state.
//   - Observed time: when the recorder saw a change, by Options.Clock; it never goes back within a recording.
//   - Object time: what the object itself says (creation, deletion). Both are stored.
//   - Gap: written where something may have been missed or was seen late: between two recordings, when a watch had to
//     start over from a list, when it was interrupted for two seconds or more, and for kinds the server does not serve
//     or does not let us list. A shorter interruption, after which the watch resumes from its resource version, delivers
//     everything and is none: servers end every watch after some minutes.
//   - Identity: a history is of one cluster, told by the UID of its namespace kube-system; another is refused.
//
// The package must not know of replays, autoscalers or the command line. It is the one package beside the command
// line that lives in wall-clock time, through an injected clock.
package recorder
