package console

import "github.com/scalehist/scalehist/internal/moment"

// TimeFlag is an instant on the command line: RFC 3339 ("2024-05-28T10:00:00Z") or an offset from the start of the
// recording ("+90s", "1h30m"). A negative offset ("-10m") counts from its end.
type TimeFlag = moment.Moment
