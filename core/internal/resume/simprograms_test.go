package resume

import (
	"errors"
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/internal/sim"
)

// What the programs of the world do with streams.

// writes lets the program write more to a stream.
func (n *node) writes(e *end, more int) {
	if e.over || e.todo > n.w.o.Window {
		return
	}
	e.todo += more
	n.w.note("%d has %d bytes more for stream %d", n.i, more, e.id)
	n.flush(e)
}

// flush writes what the session takes. What it does not take waits for Writable.
func (n *node) flush(e *end) {
	if e.waits || e.over || e.todo == 0 {
		return
	}
	n.w.bug.beforeWrite(n, e)
	r := n.record(e.id)
	if r.control() != n.record(Control).written {
		r.fences = append(r.fences, fence{r.written, n.record(Control).written})
	}
	k := n.s.Write(e.id, contents(n.s.o.Boot, e.id, r.written, min(e.todo, n.w.o.Window+1)))
	r.written += uint64(k)
	e.todo -= k
	e.waits = e.todo > 0
}

// control returns what Control must have when the last bytes of the record arrive.
func (r *record) control() uint64 {
	if len(r.fences) == 0 {
		return 0
	}
	return r.fences[len(r.fences)-1].control
}

// reads lets the program read some of what came.
func (n *node) reads(e *end) {
	if e.held == 0 {
		return
	}
	k := n.w.d.Between(1, e.held)
	n.w.note("%d reads %d bytes of stream %d", n.i, k, e.id)
	e.held -= k
	n.s.Consumed(e.id, k)
	n.w.bug.afterConsumed(n, e, k)
}

func (n *node) opens() {
	target := fmt.Sprintf("target %d", n.w.d.N(1000))
	id, err := n.s.Open([]byte(target))
	if errors.Is(err, ErrStreams) {
		return
	}
	n.w.note("%d opens stream %d, %v", n.i, id, err)
	if err != nil {
		return
	}
	n.add(id, target)
}

func (n *node) closes(e *end) {
	if e.over || e.id == Control {
		return
	}
	why := sim.Pick(n.w.d, []Reason{Closed, ProcessDied, Refused})
	n.w.note("%d ends stream %d: %s", n.i, e.id, why)
	n.record(e.id).why = why
	n.w.bug.beforeEnd(n, e)
	n.remove(e)
	n.s.End(e.id, why)
}

func (n *node) remove(e *end) {
	e.over, e.todo = true, 0
	delete(n.ends, e.id)
	n.order = slices.DeleteFunc(n.order, func(x *end) bool { return x == e })
}
