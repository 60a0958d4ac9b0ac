// Package emulate plays curves of usage on real processes, and measures what they used: a Server that says each period how much every host is to
// use, and Workers that hold memory and burn CPU as they are asked.
//
// The protocol is that of smart-kube's stress test. A worker asks GET /metrics/HOST/ once, which registers it, and is answered {"ram": MIB,
// "cpu": MILLICORES}; the first registration begins the periods. Each further period the server asks every worker GET /?ram=MIB&cpu=MILLICORES,
// within three seconds. Beyond the original, a worker's answer says what it measured since it was asked last, and a worker may register with
// ?port=PORT, which has it asked at the address that it comes from.
//
// The original goes from value t to t mod T + 1, so that it never plays the first of T values again, and reads beyond the last. Here value t+1 mod T
// follows value t.
//
// The original has stress-ng do the work; so do Workers that are asked to.
//
// Memory is MiB in whole numbers, CPU whole millicores. It must not know histories, commands, or autoscalers.
package emulate
