package daemon

import (
	"strings"
	"time"
)

// What a worker wrote to standard error just before it died often tells why:
// the trace of a fault handler, the message of an abort.
const (
	epitaphAge   = 3 * time.Second      // older words have another cause
	epitaphWait  = 5 * time.Millisecond // for them to come out of the pipe
	epitaphLines = 24
)

// epitaph returns the last lines that a worker wrote to standard error before it died, empty if it was silent.
func (o *output) epitaph() string {
	if o == nil {
		return ""
	}
	limit := time.NewTimer(epitaphWait)
	defer limit.Stop()
	select {
	case <-o.done:
	case <-limit.C: // a child of it has the pipe
	}
	o.mu.Lock()
	fresh := time.Since(o.wrote) < epitaphAge
	o.mu.Unlock()
	text := o.lastWords()
	if !fresh || text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if n := len(lines); n > epitaphLines {
		lines = lines[n-epitaphLines:]
	}
	return "\nIt last wrote to standard error:\n  " + strings.Join(lines, "\n  ")
}
