package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// A task's small arguments travel in its message. Thousands of them do not fit
// in one: then those that are not tiny go to the arena first.

// tooMuch reports whether the task's arguments are too many bytes for one message.
func (t *task) tooMuch() bool {
	n := 0
	for _, o := range t.deps {
		if o.State() == refs.Inline && promotable(o) {
			n += len(o.Value())
		}
	}
	return n > maxTogether
}

func promotable(o *refs.Object) bool { return o.Owned() && !o.IsError() && len(o.Value()) > smallValue }

// promote moves the arguments of a task to the arena and then starts it. The task has them pinned.
func (c *submitter) promote(t *task) {
	c.limbo++
	var list []*refs.Object
	seen := map[*refs.Object]bool{} // one that comes twice moves once
	for _, o := range t.deps {
		if o.State() == refs.Inline && promotable(o) && !seen[o] {
			seen[o] = true
			list = append(list, o)
		}
	}
	c.fx.Promote(t, list)
}

// promoted: the arguments of a task are in the arena, or could not be moved there.
func (c *submitter) promoted(t *task, err error) {
	c.limbo--
	switch {
	case c.closed || t.canceled: // whoever cancelled it has failed it
	case err != nil:
		c.failTask(t, fault.From(err))
	case t.actor != nil:
		t.waiting--
		c.pumpActor(t.actor)
	default:
		c.enqueue(t)
	}
}

// movesAhead is how many requests for room are under way at a time. One after the
// other each would wait for the daemon.
const movesAhead = 64

// room is an answer to a request for room.
type room struct {
	i   int
	at  wire.ObjPlace
	err error
}

// moveAll moves small values to the arena; mu held, released meanwhile.
func (c *Client) moveAll(list []*refs.Object) (err error) {
	if err := c.mapArena(); err != nil {
		return err
	}
	values := make([][]byte, len(list))
	for i, o := range list {
		values[i] = o.Value()
	}
	moved := make([]bool, len(list))
	c.mu.Unlock()
	rooms := make(chan room, movesAhead)
	asked, open := 0, 0
	for asked < len(list) && err == nil || open > 0 {
		if asked < len(list) && err == nil && open < movesAhead {
			c.askRoom(asked, list[asked].ID, len(values[asked]), rooms)
			asked, open = asked+1, open+1
			continue
		}
		r := <-rooms
		open--
		if r.err == nil { // also after another one failed: what was begun is sealed
			r.err = c.fill(list[r.i].ID, r.at, wire.TObjSeal, func(w *writer) error { return w.write(0, values[r.i]) })
		}
		switch {
		case r.err == nil, fault.CodeOf(r.err) == fault.AlreadyExists: // another task takes it, too
			moved[r.i] = true
		case err == nil:
			err = r.err
		}
	}
	c.mu.Lock()
	for i, o := range list {
		if moved[i] {
			c.table.Moved(o)
		}
	}
	if c.closed {
		return c.why
	}
	return err
}

// askRoom asks the daemon for room; the answer comes on the channel.
func (c *Client) askRoom(i int, id ids.Object, size int, to chan<- room) {
	c.daemon.Go(wire.TObjCreate, &wire.ObjCreate{ObjectID: id[:], Size: uint64(size)}, func(m *wire.Message, err error) {
		r := room{i: i, err: err}
		if err == nil {
			r.err = m.Decode(&r.at)
		}
		to <- r
	})
}
