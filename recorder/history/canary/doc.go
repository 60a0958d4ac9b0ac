// Package canary fills every text that an object log can hold with a text of its own, so that a test can look for each of them
// in what is made of the log: a history, a redacted copy, a report.
//
//   - Canary: a text that is in no other place and in no Kubernetes, "zq00042z".
//   - Place: where it is: "Pod.spec.containers[].env[].value".
//   - Dress: a form around canaries that code which looks at texts may take for something it knows: "v1.2.3-zq00042z".
//
// Texts are found by reflection over the types of the object log, so a field that an API adds has its canary too. It is for
// tests; it must not know what becomes of the canaries.
package canary
