// Package quota holds the limits of a whole cluster on cores, memory and devices: how many nodes more it may have (Quota), and how many
// fewer (Floor).
//
// The package knows no loop: it counts the nodes of a snapshot.
package quota
