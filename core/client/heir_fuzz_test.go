package client

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// Whatever a worker hands over together with its connections, the daemon's
// process, in which heirs live, stays whole: an heir begins or it is refused.
func FuzzHeir(f *testing.F) {
	d := startDaemon(&testing.T{})
	f.Cleanup(func() { os.RemoveAll(d.dir) })
	id := ids.NewObject(1, ids.Owner{5}, ids.Job{}, 1)
	other := ids.NewObject(7, ids.Owner{9}, ids.Job{}, 1)
	aid := make([]byte, ids.ActorSize)
	w := will{
		Next: 3,
		Objects: []willObject{
			{ID: raw(id), State: refs.Pending, HeldBy: [][]byte{make([]byte, ids.OwnerSize)}},
			{ID: raw(other), OwnerAddr: "/nowhere", State: refs.Inline, Value: []byte{1}, Contained: [][]byte{raw(id)}},
		},
		Templates: []Template{{Kind: KindTask, Name: "f", FID: make([]byte, 16), Returns: 1}, {Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1}},
		Tasks: []willTask{
			{First: 1, Returns: 1, Deps: [][]byte{raw(other)}},
			{First: 2, Returns: 1, Template: 0, Seq: 4, Place: taskSent},
			{First: 3, Returns: 1, Template: 1, Seq: 5, Place: taskSent},
		},
		Actors:  []willActor{{ID: aid, Inc: 1}},
		Held:    []willHeld{{Caller: make([]byte, ids.OwnerSize), Task: raw(id), Objects: [][]byte{raw(other)}}},
		Serving: []willServing{{Owner: make([]byte, ids.OwnerSize), State: wire.State{Unread: []byte{1}, Unsent: []byte{2}}, Questions: []willQuestion{{Object: raw(id), ID: 3}}}},
		Links:   []willLink{{Addr: "/nowhere", GiveBack: [][]byte{raw(other)}}},
		Conns: []willConn{
			{Addr: "/worker", LeaseID: 3, Seq: 4, Tasks: []int{1}, Unread: []byte{1, 0}},
			{Addr: "/actor", ActorID: aid, Seq: 5, Tasks: []int{2}},
		},
		Recipes: []willRecipe{{Again: -1, Task: willTask{First: 9, Returns: 1, Args: []byte{1}}, Results: [][]byte{raw(other)}}},
	}
	variants := []func(){
		func() {},
		func() { w.Conns[0].Tasks = []int{2} }, // a method's call on a lease
		func() { w.Conns[0].Tasks = []int{1, 1, 1} },
		func() { w.Conns[1].ActorID, w.Tasks[0].Template = nil, 1 },
		func() { w.Actors = append(w.Actors, w.Actors[0]) },
		func() { w.Actors[0].Calls = []int{0, 0} },
		func() { w.Conns[0].Unread = make([]byte, 1<<16) },
		func() { w.Recipes[0].Again = 5 },
		func() { w.Templates[0].Kind = 9 },
		func() { w.Templates[0].Fallback = []*Template{nil} },
		func() { w.Objects[0].ID = raw(other) },
	}
	for _, change := range variants {
		change()
		b, err := msgpack.Marshal(&w)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	made := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := readWill(b)
		if err != nil || len(w.Serving)+len(w.Links)+len(w.Conns) > 10 {
			return
		}
		work := uint64(0)
		for i := range w.Tasks {
			work += uint64(w.Tasks[i].Returns) + w.Tasks[i].Items
		}
		if work > 1000 {
			return // allowed, and slow
		}
		c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleSuccessor, Token: string(make([]byte, ids.OwnerSize))})
		if err != nil {
			t.Fatal(err)
		}
		made++
		addr := filepath.Join(d.dir, strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(made))
		if c.listener, err = transport.Listen(addr, (*host)(c), c.served); err != nil {
			t.Fatal(err)
		}
		h := &heir{c: c, w: w}
		for range len(w.Serving) + len(w.Links) + len(w.Conns) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			unix.Close(pair[1])
			h.files = append(h.files, os.NewFile(uintptr(pair[0]), "handed over"))
		}
		files := h.files
		c.mu.Lock()
		_ = h.begin(&wire.Inherited{WorkerID: make([]byte, 16), Addr: addr})
		c.mu.Unlock()
		for _, x := range files {
			x.Close()
		}
		c.Close(0)
	})
}
