package histories

import (
	"fmt"
	"strings"
	"time"
)

// outage turns what is wrong with the watches, looked at every second, into one line when it begins and one when it is
// over. What is wrong the first time only is not printed: servers end watches as a matter of course.
type outage struct {
	since time.Time // zero while all is well
	said  bool
}

// next gives the line to print, "" for none.
func (o *outage) next(trouble string, now time.Time) string {
	switch {
	case trouble == "" && o.said:
		line := fmt.Sprintf("all kinds are watched again after %s", now.Sub(o.since).Round(time.Second))
		*o = outage{}
		return line
	case trouble == "":
		*o = outage{}
	case o.since.IsZero():
		o.since = now
	case !o.said:
		o.said = true
		return strings.Join(strings.Fields(trouble), " ") + "; trying again until it works, what is missed becomes a gap"
	}
	return ""
}
