package program

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// Reason is why an autoscaler grew a node group, or began to remove a node of it.
type Reason struct {
	// At is when the loop began, on the autoscaler's clock.
	At        time.Time
	NodeGroup string
	Text      string
}

// klogTime is month, day and time of day of a line; klog writes no year.
var klogTime = regexp.MustCompile(`^[IWEF](\d{4} \d\d:\d\d:\d\d\.\d+) `)

// Reasons reads what an autoscaler's whole log says of its decisions. The year is that of start, or the next one where the log runs on into it;
// the log has times of UTC. groupOf names a node's group.
func Reasons(path string, start time.Time, groupOf func(node string) string) (out []Reason, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("log of the autoscaler: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	var at time.Time
	var block []string
	flush := func() {
		if !at.IsZero() {
			d := scalehist.Decision{At: at}
			r := reading{d: &d, groupOf: groupOf, wall: at, speed: 1}
			r.read(block)
			out = append(out, reasonsOf(d)...)
		}
		block = nil
	}
	for lines.Scan() {
		m := klogLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if strings.HasPrefix(m[1], loopBegins) {
			flush()
			if t := klogTime.FindStringSubmatch(lines.Text()); t != nil {
				at = inYear(t[1], start)
			}
		}
		block = append(block, m[1])
	}
	flush()
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("log of the autoscaler %s: %w", path, err)
	}
	return out, nil
}

func inYear(text string, start time.Time) time.Time {
	t, err := time.Parse("0102 15:04:05.999999", text)
	if err != nil {
		return time.Time{}
	}
	t = t.AddDate(start.UTC().Year(), 0, 0)
	if t.Before(start.Add(-24 * time.Hour)) {
		t = t.AddDate(1, 0, 0)
	}
	return t
}

func reasonsOf(d scalehist.Decision) []Reason {
	var out []Reason
	for _, o := range d.Options {
		if !o.Chosen {
			continue
		}
		text := plural.Of(o.NodeCount, "node") + ": " + o.Reason
		for _, name := range slices.Sorted(maps.Keys(o.Scores)) {
			text += fmt.Sprintf(", %s %.4f", name, o.Scores[name])
		}
		out = append(out, Reason{d.At, o.NodeGroup, text})
	}
	for _, n := range d.Deleting {
		text := "unneeded for " + d.At.Sub(n.UnneededSince).Round(time.Second).String()
		if len(n.Pods) == 0 {
			text += ", empty"
		} else {
			text += fmt.Sprintf(", %.1f%% utilized, %s to move", 100*n.Utilization, plural.Of(len(n.Pods), "pod"))
		}
		out = append(out, Reason{d.At, n.NodeGroup, text})
	}
	return out
}
