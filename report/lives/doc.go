// Package lives follows the nodes and pods of a report through it: when each came, where it was, when it was gone. Metrics, the page,
// explanations and the terminal app read lives; none of them follows steps itself.
package lives
