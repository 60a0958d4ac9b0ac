package web

import (
	"io"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// slowest is the least rate of a file that is sent or received, in bytes a second, on average since its first minute: room on the disk, and a
// place among few, are not kept for who sends or takes a byte now and then.
const slowest = 16 << 10

// pace says how long the next piece of a file may take: a large file may take long, a stalled one may not, nor one that only drips.
type pace struct {
	clock clock.PassiveClock
	start time.Time
	moved int64
}

func newPace(c clock.PassiveClock) *pace { return &pace{clock: c, start: c.Now()} }

func (p *pace) deadline() time.Time {
	piece := p.clock.Now().Add(ioTimeout)
	if all := p.start.Add(ioTimeout + time.Duration(p.moved/slowest)*time.Second); all.Before(piece) {
		return all
	}
	return piece
}

// patientWriter gives each piece its time.
type patientWriter struct {
	w       io.Writer
	control *http.ResponseController
	pace    *pace
}

func (p *patientWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(p.pace.deadline()) // not every connection has one
	n, err := p.w.Write(b)
	p.pace.moved += int64(n)
	return n, err
}

// patientReader does the same for what comes in.
type patientReader struct {
	r       io.Reader
	control *http.ResponseController
	pace    *pace
}

func (p *patientReader) Read(b []byte) (int, error) {
	deadline := p.pace.deadline()
	_ = p.control.SetReadDeadline(deadline)
	_ = p.control.SetWriteDeadline(deadline.Add(ioTimeout))
	n, err := p.r.Read(b)
	p.pace.moved += int64(n)
	return n, err
}
