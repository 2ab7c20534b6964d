package callargs

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

const testArena = 1 << 20

// worker is a worker's session whose daemon, callers and owners the test plays.
type worker struct {
	t     *testing.T
	mu    sync.Mutex
	store nodestore.Store
	calls *execute.Worker
	table *refs.Table
	self  ids.Owner
	f     Fetcher

	get  func(id ids.Object) (Found, error) // plays GetHere
	sent int                                // how often answers were sent

	pins     chan *wire.Message // questions for places that wait for an answer
	unpinned chan ids.Object
}

func newWorker(t *testing.T) *worker {
	t.Helper()
	w := &worker{t: t, self: ids.NewWorkerOn(1).Owner(), pins: make(chan *wire.Message, 10), unpinned: make(chan ids.Object, 10)}
	w.store.Init(nodestore.Options{Mu: &w.mu})
	w.table = refs.NewTable(w.self, ids.JobOf(1), "/own.sock", tableEffects{s: &w.store})
	w.store.Join(w.self, w.table)
	fd, err := store.CreateMemory("callargs", testArena)
	if err != nil {
		t.Fatal(err)
	}
	w.store.SetArena(fd, testArena)
	if err := w.store.MapArena(); err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	daemon := wire.NewPeer(there, w.hear, nil)
	session := wire.NewPeer(here, func(*wire.Message) {}, nil)
	w.store.Serve(session)
	daemon.Start()
	session.Start()
	w.calls = execute.New(callEffects{table: w.table}, ids.JobOf(1))
	w.f = Fetcher{Session: w, Calls: w.calls, Store: &w.store, Table: w.table, MaxMisses: 10}
	t.Cleanup(func() {
		session.Close()
		daemon.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.store.Close()
	})
	return w
}

func (w *worker) hear(m *wire.Message) {
	switch m.Type {
	case wire.TObjPin:
		w.pins <- m
	case wire.TObjUnpin:
		var q wire.ObjRef
		if err := m.Decode(&q); err != nil {
			w.t.Error(err)
		}
		w.unpinned <- ids.Object(q.ObjectID)
	default:
		w.t.Errorf("the daemon hears %s", m.Type)
	}
}

func (w *worker) GetHere(id ids.Object) (Found, error) { return w.get(id) }
func (w *worker) Wake(x *wait.Wait)                    { tableEffects{}.Wake(x) }
func (w *worker) SendAll()                             { w.sent++ }
func (w *worker) Arm()                                 {}

// tableEffects are those of a table whose owners say nothing.
type tableEffects struct {
	refs.Effects
	s *nodestore.Store
}

func (tableEffects) Wake(w *wait.Wait) {
	if w.End() {
		w.Call()
	}
}
func (tableEffects) Borrow(*refs.Object)                  {}
func (tableEffects) GiveBack(*refs.Object)                {}
func (tableEffects) Ask(*refs.Object, refs.Question)      {}
func (tableEffects) Free([][]byte)                        {}
func (tableEffects) CopyLost(ids.Object)                  {}
func (tableEffects) Needed()                              {}
func (tableEffects) Unseen(*refs.Object)                  {}
func (e tableEffects) DropCopy(o *refs.Object) bool       { return e.s.ObjectGone(o) }
func (tableEffects) Check([]*refs.Object) bool            { return false }
func (tableEffects) Siblings(*refs.Object) []*refs.Object { return nil }

// callEffects are those of a worker's queue that nobody waits for.
type callEffects struct {
	execute.Effects
	table *refs.Table
}

func (callEffects) LookSoon()                {}
func (callEffects) Wake(w *wait.Wait)        { tableEffects{}.Wake(w) }
func (e callEffects) Unpin(l []*refs.Object) { e.table.UnpinAll(l) }
func (callEffects) CollectsAnswers() bool    { return false }

// pipe is a caller's connection that nobody reads.
type pipe struct{ b []byte }

func (p *pipe) Buffer() []byte     { return p.b }
func (p *pipe) Queue(b []byte)     { p.b = b }
func (p *pipe) Unsent() int        { return len(p.b) }
func (*pipe) Flush()               {}
func (*pipe) FlushUntil(time.Time) {}
func (*pipe) SendSoon()            {}
func (*pipe) SendLater()           {}
func (*pipe) Sent()                {}
func (*pipe) WhenSent(func())      {}
func (*pipe) Pause()               {}
func (*pipe) Resume()              {}
func (*pipe) Paused() bool         { return false }
func (*pipe) Closed() bool         { return false }
func (*pipe) HearWakeup(uint64)    {}
func (*pipe) FD() int              { return -1 }

// caller is one that has sent the template of a function; the mutex is held.
func (w *worker) caller(role string) *execute.Caller {
	w.t.Helper()
	k := w.calls.AddCaller(new(pipe), &wire.Hello{Role: role}, -1)
	w.reads(k, frame.AppendTemplate(nil, &frame.Template{ID: 1, Kind: frame.KindTask, FID: []byte("sixteen bytes id"), Name: "f", Returns: 1, Blob: []byte("code")}))
	return k
}

func (w *worker) reads(k *execute.Caller, b []byte) {
	w.t.Helper()
	if used, err := k.Frames(b); err != nil || used != len(b) {
		w.t.Fatalf("%d of %d bytes are read: %v", used, len(b), err)
	}
}

// call takes a call out of the queue that a caller has just sent.
func (w *worker) call(from *execute.Caller, seq uint32, args frame.Place, deps ...frame.Place) *execute.Call {
	w.t.Helper()
	w.sends(from, seq, args, deps...)
	return w.next()
}

// sends has a caller send a call.
func (w *worker) sends(from *execute.Caller, seq uint32, args frame.Place, deps ...frame.Place) {
	w.t.Helper()
	place := func(b []byte, p frame.Place) []byte {
		if p.Envelope != nil {
			return frame.AppendInline(b, p.Envelope)
		}
		return frame.AppendStored(b, &p.ID, p.Size, p.Owner)
	}
	b, at := frame.BeginTask(nil, seq, 1, uint64(seq)*100, false)
	b = frame.AppendCount(place(b, args), len(deps))
	for _, p := range deps {
		b = place(b, p)
	}
	w.reads(from, frame.End(b, at))
}

func (w *worker) next() *execute.Call {
	w.t.Helper()
	k := w.calls.Next(w.calls.Lane(""))
	if k == nil {
		w.t.Fatal("no call waits")
	}
	return k
}

// missed defers a call n times, as if its arguments were lost again and again.
func (w *worker) missed(k *execute.Call, n int) *execute.Call {
	w.t.Helper()
	for range n {
		if !w.calls.Defer(k) {
			w.t.Fatal("the call is not deferred")
		}
		w.calls.Arrived(k)
		k = w.next()
	}
	return k
}

// foreign is an object of another process in a state.
func (w *worker) foreign(n uint64, s refs.State) *refs.Object {
	o := w.table.Borrow(ids.NewObject(n, ids.Owner{9}, ids.JobOf(1), 0), "somewhere")
	f := o.Facts()
	f.State = s
	o.Restore(f)
	return o
}

// small is an argument that came with its call.
var small = frame.Place{Envelope: store.AppendEnvelope(nil, store.FormatNone, nil)}
