// Package redact writes a copy of a history that can leave the house: no name, label, image, address or free text of the
// cluster is in it, and it replays like the original.
//
//   - Word: a longest stretch of characters from '0' on in a name: "web" and "7d9f8" in "web-7d9f8". What lies between
//     words ('-', '.', '/', ...) stays.
//   - Pseudonym: what stands for a word. It is made of the word's place among all words of the history and a short
//     HMAC-SHA256 of it under a secret salt. Pseudonyms sort as the words do, so names sort as they did: whole names,
//     names that share a beginning, "namespace/name", and names that a replay makes of others ("<group>-<n>").
//   - Public word: one that Kubernetes or the cluster-autoscaler itself uses, and numbers below 1000. They stay.
//   - Mapping: all that was replaced, for those who hold it: reports on a redacted history are read with it.
//
// Every object is rewritten field by field. A text that no rule knows is replaced whole, so that what an API adds
// later is not let through.
//
// The package must not know of replays, API servers or the command line.
package redact
