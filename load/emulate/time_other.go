//go:build !unix

package emulate

import "time"

// processTime is not known here: workers run on Linux alone, where there is /proc to measure them by.
func processTime() time.Duration { return 0 }
