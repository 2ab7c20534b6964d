package client

import (
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// Values are written to the store without the mutex. A full store lets the writer
// wait. The program's signals are looked after meanwhile: Ctrl-C, and the one that
// says that the task was cancelled.

// signalsEvery is how long a signal, or a cancellation, may wait while a thread waits for room.
const signalsEvery = 100 * time.Millisecond

// errTakenBack is a wait for room that was stopped.
var errTakenBack = errors.New("the wait for room in the object store was stopped")

// create asks for room; the daemon answers when there is some. Anew: in place of
// what an earlier run of the task has written under this id. Program: the calling
// thread is the program's own, which handles signals. Closing stop, which may be
// nil, ends the wait, too: errTakenBack.
func (c *Client) create(id ids.Object, size int, anew, program bool, stop <-chan struct{}) (at wire.ObjPlace, err error) {
	r := c.local.AskRoom(id, size, anew)
	var signals func() bool
	if program && c.opts.Signals != nil {
		signals, stop = c.opts.Signals, nil
	}
	if err := c.awaitRoom(r, stop, signals); err != nil {
		return at, err
	}
	if at, err = r.Place(); err != nil {
		if why := c.Err(); why != nil {
			err = why
		}
	}
	return at, err
}

// awaitRoom waits for the answer to a request for room. The wait ends, and the request
// is taken back, when the handler of a signal has raised an exception (Interrupted;
// signals may be nil), or when stop is closed (errTakenBack).
func (c *Client) awaitRoom(r *localstore.Room, stop <-chan struct{}, signals func() bool) error {
	if stop == nil && signals == nil {
		<-r.Done()
		return nil
	}
	look := time.NewTimer(signalsEvery)
	defer look.Stop()
	for {
		select {
		case <-r.Done():
			return nil
		case <-look.C: // where there is room the answer has come before this
			select {
			case <-stop:
				c.local.TakeBack(r)
				return errTakenBack
			default:
			}
			if signals != nil && signals() {
				c.local.TakeBack(r)
				return fault.New(fault.Interrupted, "a signal ended the wait for room in the object store")
			}
			look.Reset(signalsEvery)
		}
	}
}

// storeValue writes the value into the store under the given id; mu must not be held. Program: see create.
func (c *Client) storeValue(id ids.Object, v *Value, total int, anew, program bool) error {
	at, err := c.create(id, total, anew, program, nil)
	if err != nil {
		return err
	}
	return c.local.Write(id, at, v.stored(), false)
}

// stored is the value as it is written to the store.
func (v *Value) stored() localstore.Value {
	return localstore.Value{Format: store.Format(v.Fmt), Meta: v.Meta, Bufs: v.Bufs}
}

// putLarge writes a value that put was given to the store; mu held, released meanwhile.
func (c *Client) putLarge(id ids.Object, v *Value, total int) error {
	at, reused, keep := c.local.Put(id, total)
	c.mu.Unlock()
	var err error
	if !reused {
		at, err = c.create(id, total, false, true, nil)
	}
	keep = keep && at.Path == ""
	if err == nil {
		err = c.local.Write(id, at, v.stored(), keep)
	}
	c.mu.Lock()
	if err == nil && keep {
		c.local.Written(id, at, total)
	}
	return err
}

// moveToStore writes small values, which must be distinct and pinned, to the arena; mu held, released meanwhile.
func (c *Client) moveToStore(list []*refs.Object) error {
	if err := c.mapArena(); err != nil {
		return err
	}
	p := c.local.Promote(list)
	c.mu.Unlock()
	for p.Next() {
		p.Write(<-p.Rooms())
	}
	c.mu.Lock()
	return c.local.Promoted(p)
}
