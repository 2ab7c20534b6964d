package submit

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// freeWritten frees what a task that fails may have left in the arena: a worker
// that wrote a result and was killed before it answered. A task that runs again
// for some of its results has written only these: the copies of the others are good; mu held.
func (c *Submitter) freeWritten(t *Task) {
	if t.Seq == 0 {
		return // it was never sent
	}
	var list [][]byte
	for i := range t.Returns {
		if o := c.table.FindOwned(t.First + uint64(i)); o == nil || o.Source() == t {
			list = append(list, idBytes(ids.NewObject(t.First+uint64(i), c.Self, c.Job, uint32(i+1))))
		}
	}
	if len(list) > 0 {
		c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: list})
	}
}
