// Package recorder watches a Kubernetes cluster and writes what scaling depends on into a history.
//
// It needs nothing but a kubeconfig: every kind is listed and watched as kubectl would. What is watched goes through
// one bounded queue to one writer, which commits batches in one transaction each; when the writer is behind, the
// watches wait. Nothing of an object is kept here but its name, UID and resource version;
// of nodes, machines and the autoscaler's status what node groups are made of.
//
//   - Recording start: the instant at which every kind's first list had arrived. All of them are written with that
//     instant, so the history's first state is one state.
//   - Observed time: when the recorder saw a change, by Options.Clock; it never goes back within a recording.
//   - Object time: what the object itself says (creation, deletion). Both are stored.
//   - Gap: written, with its kinds and its reason, where something may have been missed or was seen late: between two
//     recordings, when a watch had to start over from a list, when it was interrupted for two seconds or more, when it was
//     silent and had something to say, while the queue was full, when the machine's clock leapt, and for kinds the server
//     does not serve or does not let us list or watch. A shorter interruption, after which the watch resumes from its
//     resource version, delivers everything and is none: servers end every watch after some minutes. Nor is a watch that
//     says nothing because nothing happens. A gap that goes on is one gap that grows, in the file too.
//   - Missed deletion: what a list does not show any more is deleted at the instant that ends the gap before the list;
//     history.DB.Missed separates these deletions from those that were seen.
//   - Identity: a history is of one cluster, known by the UID of its namespace kube-system; another is refused, also when
//     credentials are renewed.
//
// What a reader may rely on outside of gaps:
//
//   - Of each kind, the state at an instant is one that the API server had: all changes up to some resource version and
//     none after it. Of checkpoints of vertical recommenders, which are written every minute, it may be up to an hour old.
//   - Between kinds, which are watched one by one, the changes of one transaction are in the order of their resource
//     versions, whatever watch was faster. A change that arrives after the transaction that holds a later change of
//     another kind bears a later instant, so kinds may differ by what the delivery of their watches differs: usually
//     milliseconds. API servers do not say of a quiet kind how far it is, except by a bookmark a minute, so no
//     transaction can wait for that. Events, and what another API server keeps, have no common order with the rest.
//   - At the start of a recording, and of what a new list brings, everything is of one instant. The first state of a
//     recording is several transactions at that one instant: a reader at work meanwhile may see part of it.
//   - At an instant when Flush returned and nothing had changed since, the state is the API server's.
//   - What was committed stays: a recorder that is killed loses at most what it had not committed, which lies in the gap
//     before the next recording. A power cut takes what came after the last sign of life; Flush gives one.
//
// What goes wrong is reported by Stats.Trouble and the log, and tried again: API servers that are away, credentials that
// expire (Options.Reload), a full disk (the queue is held, and with it the watches), clocks that differ. A history that
// is removed or replaced ends the recording with GoneError; nothing is written to a file without a name.
//
// The package must not know of replays, autoscalers or the command line. It is the one package beside the command
// line that lives in wall-clock time, through an injected clock.
package recorder
