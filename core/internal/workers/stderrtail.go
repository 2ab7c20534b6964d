package workers

import (
	"strings"
	"time"
)

// What a worker wrote to standard error just before it died often tells why:
// the trace of a fault handler, the message of an abort.
const (
	tailAge   = 3 * time.Second      // older text has another cause
	tailWait  = 5 * time.Millisecond // for the text to come out of the pipe
	tailLines = 24
)

// StderrTail returns the last lines that a worker wrote to standard error before it died, empty if it was silent.
func (o *Output) StderrTail() string {
	if o == nil {
		return ""
	}
	limit := time.NewTimer(tailWait)
	defer limit.Stop()
	select {
	case <-o.done:
	case <-limit.C: // a child of it has the pipe
	}
	text, wrote := o.tailAndTime()
	if time.Since(wrote) >= tailAge || text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if n := len(lines); n > tailLines {
		lines = lines[n-tailLines:]
	}
	return "\nIt last wrote to standard error:\n  " + strings.Join(lines, "\n  ")
}

// tailAndTime returns what the worker wrote last, and when.
func (o *Output) tailAndTime() (text string, wrote time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tail.String(), o.wrote
}
