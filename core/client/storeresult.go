package client

import (
	"context"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// storeResult is storeValue for a value that an answer will name on another
// socket. The seal has left this process when storeResult returns: if this process
// is killed right after the answer, the daemon must not take the object for one
// that was never written.
//
// A worker that was killed between its seal and its answer has left an object of
// which nobody was told, and what that object contains may have died with the
// worker. So the run that answers takes its place with an object of its own.
// Closing stop, which may be nil, ends a wait for room: errTakenBack.
func (c *Client) storeResult(id ids.Object, v *Value, total int, program bool, stop <-chan struct{}) error {
	at, err := c.create(id, total, true, program, stop)
	if err == nil {
		err = c.local.Write(id, at, v.stored(), false)
	}
	if err != nil {
		return err
	}
	return c.daemon.Flush(context.Background())
}

// freeWritten frees what a task that fails may have left in the arena: a worker
// that wrote a result and was killed before it answered. A task that runs again
// for some of its results has written only these: the copies of the others are good; mu held.
func (c *submitter) freeWritten(t *task) {
	if t.seq == 0 {
		return // it was never sent
	}
	var list [][]byte
	for i := range t.returns {
		if o := c.table.FindOwned(t.first + uint64(i)); o == nil || o.Source() == t {
			list = append(list, raw(ids.NewObject(t.first+uint64(i), c.self, c.info.Job, uint32(i+1))))
		}
	}
	if len(list) > 0 {
		c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: list})
	}
}

// freeReturns frees the first n results of an answer, which were stored before the
// next could not be. It leaves those alone that the caller has had from an earlier run.
func (c *Client) freeReturns(k *execute.Call, n, flags int) {
	var list [][]byte
	for i := range n {
		if at, wanted := k.Place(i, flags); wanted {
			list = append(list, raw(k.ReturnID(at)))
		}
	}
	if len(list) > 0 {
		c.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: list})
	}
}
