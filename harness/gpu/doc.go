// Package gpu says by which label the provider of a recording marks nodes with GPUs, and which limits of GPUs bind nothing there: pure functions of
// flags, node groups and nodes. It must not know replays, or who counts devices.
package gpu
