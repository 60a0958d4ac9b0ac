// Package service records many clusters at once, each into a history of its own, as a configuration file says.
//
//   - Cluster: one entry of the configuration; its history is <dir>/<name>.db.
//   - Attempt: one Recorder from its start to its end. When it fails, the next one follows after a backoff, with the
//     kubeconfig read again.
//   - Reload: the configuration, and every file it names, is watched. What changed is restarted, what went is ended,
//     what did not change goes on. A configuration that is wrong changes nothing; the reason is kept in ConfigStatus.
//
// One cluster that cannot be recorded does not concern the others. The package must not know of HTTP or the command
// line.
package service
