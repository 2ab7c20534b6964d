package sim

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
)

// kept is how many events a log keeps.
const kept = 200

// Log has the last events of a world.
type Log struct {
	lines [kept]string
	n     int
	sum   uint64
}

// Note adds an event.
func (l *Log) Note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	l.lines[l.n%kept] = line
	l.n++
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d ", l.sum) // a hash takes everything
	_, _ = io.WriteString(h, line)
	l.sum = h.Sum64()
}

// Count returns how many events there were.
func (l *Log) Count() int { return l.n }

// String returns the last events, one a line, with their numbers.
func (l *Log) String() string {
	var out strings.Builder
	for i := max(0, l.n-kept); i < l.n; i++ {
		fmt.Fprintf(&out, "%6d %s\n", i+1, l.lines[i%kept])
	}
	return out.String()
}
