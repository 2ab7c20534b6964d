package client

import (
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// A full store lets who wants to write wait. The program's signals are looked
// after meanwhile: Ctrl-C, and the one that says that the task was cancelled.

// signalsEvery is how long a signal, or a cancellation, may wait for who waits for room.
const signalsEvery = 100 * time.Millisecond

// errTakenBack is a wait for room that was stopped.
var errTakenBack = errors.New("the wait for room in the object store was stopped")

// awaitRoom asks for room and waits until there is some. The wait ends when the
// handler of a signal has raised an exception (Interrupted; signals may be nil),
// or when stop is closed (errTakenBack; it may be nil). Then the request is
// taken back.
func (c *Client) awaitRoom(id ids.Object, q *wire.ObjCreate, stop <-chan struct{}, signals func() bool) (at wire.ObjPlace, err error) {
	type result struct {
		at  wire.ObjPlace
		err error
	}
	answer := make(chan result, 1)
	c.daemon.Go(wire.TObjCreate, q, func(m *wire.Message, err error) {
		r := result{err: err}
		if err == nil {
			r.err = m.Decode(&r.at)
		}
		answer <- r
	})
	look := time.NewTimer(signalsEvery)
	defer look.Stop()
	for {
		select {
		case r := <-answer:
			if r.err != nil {
				if why := c.Err(); why != nil {
					return at, why
				}
			}
			return r.at, r.err
		case <-look.C: // where there is room the answer has come before this
			select {
			case <-stop:
				c.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
				return at, errTakenBack
			default:
			}
			if signals != nil && signals() {
				c.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
				return at, fault.New(fault.Interrupted, "a signal ended the wait for room in the object store")
			}
			look.Reset(signalsEvery)
		}
	}
}
