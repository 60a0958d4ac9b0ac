// Package exit ends the programs that judge: 0 when all is well, 1 when there is something to find, 2 when nothing could be judged.
package exit

import (
	"errors"
	"fmt"
	"io"
)

// Code prints the error of a program to w, if there is one, and gives its exit code: 1 if found is among what err wraps, else 2.
func Code(w io.Writer, program string, err, found error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(w, "%s: %v\n", program, err)
	if errors.Is(err, found) {
		return 1
	}
	return 2
}
