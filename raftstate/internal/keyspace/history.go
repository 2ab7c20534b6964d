package keyspace

import (
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/record"
)

// Bounds of what is kept of the past, and of one answer.
const (
	maxKept      = 4096
	maxKeptBytes = 4 << 20 // keys and values together

	maxAnswer      = 512
	maxAnswerBytes = 1 << 20
	// ProgressAfter: a watcher that is not concerned is told of so many changes, so that its place stays among those that are kept.
	ProgressAfter = maxKept / 4
)

// history are the latest changes.
type history struct {
	kept  []record.KeyChange // without gaps, up to last
	bytes int
	last  uint64 // number of the last change ever
}

func changeSize(c *record.KeyChange) int { return len(c.Key) + len(c.Value) }

// add numbers a change and keeps it, and forgets the oldest.
func (h *history) add(c record.KeyChange) {
	h.last++
	c.Seq = h.last
	h.kept = append(h.kept, c)
	h.bytes += changeSize(&c)
	for len(h.kept) > maxKept || h.bytes > maxKeptBytes {
		h.bytes -= changeSize(&h.kept[0])
		h.kept[0] = record.KeyChange{} // what it holds goes with it
		h.kept = h.kept[1:]
	}
}

func (h *history) clone() history {
	c := *h
	c.kept = slices.Clone(h.kept)
	return c
}

// After returns the changes after a place, of those that are kept. They are only read, and before the next command.
func (s *Space) After(from uint64) []record.KeyChange {
	h := &s.past
	return h.kept[max(0, len(h.kept)-int(h.last-from)):]
}

// Since returns the changes of the keys with the prefix after a place: some of them at least, or Compacted. It reports false when
// there is nothing to say yet.
func (s *Space) Since(prefix string, from uint64) (r record.KeyChanges, some bool) {
	h := &s.past
	if from > h.last || h.last-from > uint64(len(h.kept)) {
		return record.KeyChanges{Compacted: true, Next: from}, true
	}
	r.Next = from
	bytes := 0
	for i := len(h.kept) - int(h.last-from); i < len(h.kept); i++ {
		c := &h.kept[i]
		if strings.HasPrefix(c.Key, prefix) {
			if bytes += changeSize(c); len(r.List) > 0 && bytes > maxAnswerBytes || len(r.List) == maxAnswer {
				return r, true
			}
			r.List = append(r.List, *c)
		}
		r.Next = c.Seq
	}
	return r, len(r.List) > 0 || r.Next-from >= ProgressAfter
}

// Jump lets the numbers of changes go on so much later. What is kept of the past goes: who watches lists the keys anew.
func (s *Space) Jump(by uint64) { s.past = history{last: s.past.last + by} }
