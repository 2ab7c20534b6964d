package client

import (
	"errors"
	"os"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// Whatever a worker hands over, the daemon's process stays whole: an heir is
// made of it or it is refused.
func FuzzWill(f *testing.F) {
	d := startDaemon(&testing.T{})
	f.Cleanup(func() { os.RemoveAll(d.dir) })
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver})
	if err != nil {
		f.Fatal(err)
	}
	defer c.Close(0)
	id := ids.NewObject(1, c.self, c.info.Job, 1)
	other := ids.NewObject(7, ids.Owner{9}, c.info.Job, 1)
	w := will{
		Next: 3,
		Objects: []willObject{
			{ID: raw(id), State: refs.Pending, HeldBy: [][]byte{make([]byte, ids.OwnerSize)}},
			{ID: raw(other), OwnerAddr: "/nowhere", State: refs.Inline, Value: []byte{1}, Contained: [][]byte{raw(id)}},
		},
		Templates: []Template{{Kind: KindTask, Name: "f", FID: make([]byte, 16), Returns: 1}},
		Tasks:     []willTask{{First: 1, Returns: 1, Deps: [][]byte{raw(other)}}},
		Actors:    []willActor{{ID: make([]byte, ids.ActorSize)}},
		Held:      []willHeld{{Caller: make([]byte, ids.OwnerSize), Task: raw(id), Objects: [][]byte{raw(other)}}},
	}
	b, err := msgpack.Marshal(&w)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := readWill(b)
		if err != nil || len(w.Serving)+len(w.Links)+len(w.Conns) > 0 {
			return // those need their descriptors
		}
		work := uint64(0)
		for i := range w.Tasks {
			work += uint64(w.Tasks[i].Returns) + w.Tasks[i].Items
		}
		if work > 1000 {
			return // allowed, and slow
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		h := &heir{c: c, w: w}
		c.table, c.actors = c.newTable(), map[ids.Actor]*actor{}
		if h.objects() != nil {
			return
		}
		for i := range w.Tasks {
			x, err := h.task(&w.Tasks[i], &Template{Name: "f"})
			if err != nil {
				return
			}
			h.tasks = append(h.tasks, x)
		}
		if errors.Join(h.actors(), h.results()) == nil {
			c.table.Sweep()
			c.table.Each(func(o *refs.Object) bool {
				if o.State() != refs.Pending {
					o.Answer(c.info.Node)
				}
				return true
			})
		}
	})
}
