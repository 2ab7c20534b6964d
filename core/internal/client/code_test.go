package client

import (
	"bytes"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// codeState plays what the cluster's state does with large classes; the fake daemon's mu guards it.
type codeState struct {
	d       *fakeDaemon
	parts   []wire.CodePart
	data    []byte
	size    uint64
	dropped []string
	gets    []uint64                               // offsets that were asked for
	have    func(q *wire.CodePart) wire.CodeHave   // nil: what data and size say
	give    func(at uint64) (wire.CodeData, error) // answers TCodeGet
}

func (d *fakeDaemon) keepsCode() *codeState {
	s := &codeState{d: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.first = func(m *wire.Message) bool {
		switch m.Type {
		case wire.TCodePart:
			var q wire.CodePart
			_ = m.Decode(&q)
			s.parts = append(s.parts, q)
			if q.Size > 0 && q.Offset == uint64(len(s.data)) {
				s.data, s.size = append(s.data, q.Data...), q.Size
			}
			if s.have != nil {
				_ = m.Reply(s.have(&q))
			} else {
				_ = m.Reply(wire.CodeHave{Have: uint64(len(s.data)), Size: s.size})
			}
		case wire.TCodeDrop:
			var q wire.ActorRef
			_ = m.Decode(&q)
			s.dropped = append(s.dropped, string(q.ActorID))
		case wire.TCodeGet:
			var q wire.CodeAt
			_ = m.Decode(&q)
			s.gets = append(s.gets, q.Offset)
			if part, err := s.give(q.Offset); err != nil {
				_ = m.Fail(err)
			} else {
				_ = m.Reply(part)
			}
		default:
			return false
		}
		return true
	}
	return s
}

// now returns a copy of the state.
func (s *codeState) now() codeState {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return *s
}

// largeClass puts an object as a large class is put, and gives the bytes of the whole object.
func largeClass(t *testing.T, c *Client, size int) (id ids.Object, class, whole []byte) {
	t.Helper()
	class = make([]byte, size)
	for i := range class {
		class[i] = byte(i >> 10)
	}
	id, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{class}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Get(id, testLimit)
	if err != nil || f.IsError {
		t.Fatal(f, err)
	}
	whole = bytes.Clone(f.Envelope)
	c.Release(Drop{View: f.View})
	waitFor(t, "the view is let go", func() bool { return inUse(c) == 0 })
	return id, class, whole
}

// inUse counts how often the program holds views.
func inUse(c *Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.TakeDrops()
	return c.local.Count().InUse
}
