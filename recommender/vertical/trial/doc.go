// Package trial puts the recorded usage of one workload under a recommender and an updater, in virtual time, and keeps accounts: what
// was asked for and not used, used and not asked for, throttled, out of memory, evicted, and how far recommendations were off.
//
// A Workload has pods with the usage of their containers; a trial gives the pods other requests and limits than they had. Usage is
// what the containers want: of CPU they get what their limit lets them, and a container that wants more memory than its limit is
// killed, and started again with the kubelet's back-off. What the recommender sees is what was used then, not what was wanted. A
// sample holds until the next one, for five minutes at most: gaps count for nothing.
//
// It must not know histories, replays, clients, or pages.
package trial
