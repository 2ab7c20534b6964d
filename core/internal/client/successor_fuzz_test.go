package client

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Whatever a worker hands over together with its connections, the daemon's process
// goes on: a successor begins, or the snapshot is refused.
func FuzzSuccessor(f *testing.F) {
	d := startDaemon(&testing.T{})
	f.Cleanup(func() { os.RemoveAll(d.dir) })
	id := ids.NewObject(1, ids.Owner{5}, ids.Job{}, 1)
	other := ids.NewObject(7, ids.Owner{9}, ids.Job{}, 1)
	aid := make([]byte, ids.ActorSize)
	w := handover.Snapshot{
		Refs: refs.Snapshot{
			Version: refs.SnapshotVersion, Next: 3,
			Objects: []refs.ObjectSnapshot{
				{ID: id.Raw(), State: refs.Pending, HeldBy: [][]byte{make([]byte, ids.OwnerSize)}},
				{ID: other.Raw(), OwnerAddr: "/nowhere", State: refs.Inline, Value: []byte{1}, Contained: [][]byte{id.Raw()}},
			},
			Results: []refs.ResultSnapshot{{Caller: make([]byte, ids.OwnerSize), Addr: "/caller", Actor: true, Socket: 1 << 31, Number: 1, Objects: [][]byte{other.Raw()}}},
		},
		Submit: snapshot.Submitter{
			Version:   snapshot.Version,
			Templates: []snapshot.Template{{Kind: KindTask, Name: "f", FID: make([]byte, 16), Returns: 1}, {Number: 1, Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1}},
			Tasks: []snapshot.Task{
				{First: 1, Returns: 1, Deps: [][]byte{other.Raw()}},
				{First: 2, Returns: 1, Template: 0, Seq: 4, Place: snapshot.PlaceSent},
				{First: 3, Returns: 1, Template: 1, Seq: 5, Place: snapshot.PlaceSent},
			},
			Actors:   []snapshot.Actor{{ID: aid, Incarnation: 1}},
			Channels: []snapshot.Channel{{Addr: "/worker", LeaseID: 3, Seq: 4, Tasks: []int{1}}, {Addr: "/actor", ActorID: aid, Seq: 5, Tasks: []int{2}, Filled: []string{"io"}}},
			Recipes:  []snapshot.Recipe{{Again: -1, Task: snapshot.Task{First: 9, Returns: 1, Args: []byte{1}}, Results: [][]byte{other.Raw()}}},
		},
		Served: []handover.Served{
			{Owner: make([]byte, ids.OwnerSize), State: wire.State{Unread: []byte{1}, Unsent: []byte{2}}, Questions: []handover.Question{{Object: id.Raw(), ID: 3}}},
		},
		Links:   []handover.Link{{Addr: "/nowhere", GiveBack: [][]byte{other.Raw()}}},
		Sockets: []handover.Socket{{Unread: []byte{1, 0}}, {}},
	}
	if b, err := handover.Encode(&w); err != nil {
		f.Fatal(err)
	} else if _, err := handover.Decode(b); err != nil { // else the fuzzer would look at refusals only
		f.Fatal(err)
	}
	variants := []func(){
		func() {},
		func() { w.Submit.Channels[0].Tasks = []int{2} }, // a method's call on a lease
		func() { w.Submit.Channels[0].Tasks = []int{1, 1, 1} },
		func() { w.Submit.Channels[1].ActorID, w.Submit.Tasks[0].Template = nil, 1 },
		func() { w.Submit.Actors = append(w.Submit.Actors, w.Submit.Actors[0]) },
		func() { w.Submit.Actors[0].Calls = []int{0, 0} },
		func() { w.Sockets[0].Unread = make([]byte, 1<<16) },
		func() { w.Submit.Recipes[0].Again = 5 },
		func() { w.Submit.Templates[0].Kind = 9 },
		func() {
			w.Submit.Templates[0].Fallback = []snapshot.Template{{Fallback: make([]snapshot.Template, 1)}}
		},
		func() { w.Refs.Objects[0].ID = other.Raw() },
	}
	for _, change := range variants {
		change()
		b, err := handover.Encode(&w)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	made := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := handover.Decode(b)
		if err != nil || w.Connections() > 10 {
			return
		}
		work := uint64(0)
		for i := range w.Submit.Tasks {
			work += uint64(w.Submit.Tasks[i].Returns) + w.Submit.Tasks[i].Items
		}
		if work > 1000 {
			return // allowed, and slow
		}
		c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleSuccessor, Token: string(make([]byte, ids.OwnerSize))})
		if err != nil {
			t.Fatal(err)
		}
		made++
		path := filepath.Join(d.dir, strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(made))
		if c.listener, err = transport.Listen(path, (*host)(c), c.served); err != nil {
			t.Fatal(err)
		}
		h := &successor{c: c, snapshot: w}
		for range w.Connections() {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			unix.Close(pair[1])
			h.files = append(h.files, os.NewFile(uintptr(pair[0]), "handed over"))
		}
		files := h.files
		c.mu.Lock()
		_ = h.begin(&wire.TakenOver{WorkerID: make([]byte, 16), Socket: path})
		c.mu.Unlock()
		for _, x := range files {
			x.Close()
		}
		c.Close(0)
	})
}
