package access

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/borrows"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/sites"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/await"
)

// session is a session without a daemon's process: the test plays the daemon and what makes objects ready.
type session struct {
	Objects
	t       *testing.T
	mutex   sync.Mutex
	store   nodestore.Store
	message borrows.Messenger
	texts   sites.Texts
	refs    *refs.Table
	own     ids.Owner
	freed   [][]byte
	asked   chan *wire.Message // what the daemon is asked
}

// effects are those of a table whose tasks nobody runs.
type effects struct {
	refs.ValueEffects
	refs.LineageEffects
	refs.ReleaseEffects
	*borrows.Messenger
	s *session
}

func (e effects) Wake(w *wait.Wait)                    { e.s.poller.Finish(w) }
func (e effects) ArrivalSite(site uint32) uint32       { return e.s.ArrivalSite(site) }
func (e effects) Pointer(o *refs.Object) []byte        { return e.s.Pointer(o) }
func (e effects) Free(list [][]byte)                   { e.s.freed = append(e.s.freed, list...) }
func (e effects) DropCopy(o *refs.Object) bool         { return e.s.store.ObjectGone(o) }
func (effects) CopyLost(ids.Object)                    {}
func (effects) Needed()                                {}
func (effects) Unseen(*refs.Object)                    {}
func (effects) Check([]*refs.Object) bool              { return false }
func (effects) Siblings(o *refs.Object) []*refs.Object { return []*refs.Object{o} }
func (effects) Reply(q *wire.Message, _ *refs.Object)  { _ = q.Reply(nil) }
func (effects) Infeasible(refs.Task, *fault.Error)     {}
func (effects) SourceGone(refs.Source, *refs.Object)   {}

// ReadsAnswers implements borrows.Session.
func (s *session) ReadsAnswers(bool, uint64) bool { return false }

// Say implements borrows.Session.
func (s *session) Say(text string) { panic(text) }

// Await implements borrows.Session.
func (s *session) Await(w *wait.Wait, deadline time.Time) { s.poller.Await(w, deadline) }

// quietHost has a poller of no sockets.
type quietHost struct{ transport.Host }

func (quietHost) BeforePoll()                                {}
func (quietHost) Unanswered() (all, far int)                 { return 0, 0 }
func (quietHost) Serving() bool                              { return false }
func (quietHost) ReadsAll() bool                             { return false }
func (quietHost) AllRead()                                   {}
func (quietHost) Polled()                                    {}
func (quietHost) MayCoalesce() bool                          { return false }
func (quietHost) Undisturbed() (time.Duration, bool)         { return 0, false }
func (quietHost) LookAgain(most time.Duration) time.Duration { return most }
func (quietHost) Failed(error)                               {}

func newSession(t *testing.T, p Parts) *session {
	t.Helper()
	s := &session{t: t, own: ids.NewWorkerOn(1).Owner(), asked: make(chan *wire.Message, 100)}
	s.store.Init(nodestore.Options{Mu: &s.mutex, Signals: p.Signals})
	links := transport.NewLinks(&s.mutex, &s.message, nil, func() wire.Hello { return wire.Hello{} }, nil)
	s.message.Init(&s.mutex, s, links, transport.NewServed(&s.mutex, nil, nil))
	p.Mu, p.Store, p.Borrows, p.Sites = &s.mutex, &s.store, &s.message, &s.texts
	s.InitObjects(p)
	s.refs = refs.NewTable(s.own, ids.JobOf(1), "/own.sock", effects{Messenger: &s.message, s: s})
	s.store.Join(s.own, s.refs)
	s.message.Join(s.refs)
	s.JoinTable(s.own, "/own.sock", s.refs)
	fd, err := store.CreateMemory("access", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	s.store.SetArena(fd, 1<<20)
	if err := s.store.MapArena(); err != nil {
		t.Fatal(err)
	}
	poller, err := transport.New(&s.mutex, quietHost{}, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitWith(poller); err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	daemon := wire.NewPeer(there, func(m *wire.Message) { s.asked <- m }, nil)
	us := wire.NewPeer(here, func(*wire.Message) {}, nil)
	s.store.Serve(us)
	s.AskAt(us)
	daemon.Start()
	us.Start()
	t.Cleanup(func() {
		us.Close()
		daemon.Close()
		poller.StopBackground()
		s.mutex.Lock()
		defer s.mutex.Unlock()
		poller.End()
		poller.AwaitNoLeader()
		poller.Close()
		s.CloseAsync()
		s.store.Close()
		links.Close()
	})
	return s
}

// ends ends the session as its owner does.
func (s *session) ends(why error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.SetClosed(why)
	s.store.End(why)
	s.poller.End()
	s.refs.FailAll(fault.From(why))
}

// pending makes objects that a task is to return; the program has a reference to each.
func (s *session) pending(n int) (list []ids.Object) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for range n {
		list = append(list, s.refs.New(0, 1).ID)
	}
	return list
}

// returns has the task of an object return a value, or an exception.
func (s *session) returns(id ids.Object, v Value) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	total := v.Size()
	s.refs.Complete(s.refs.Find(id), refs.Inline, v.Envelope(total), uint64(total), v.Fmt == uint8(store.FormatError))
}

// begun waits until so many waits for objects have begun.
func (s *session) begun(n uint32) {
	s.t.Helper()
	await.Within(s.t, await.Limit, "the waits have begun", func() bool {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.refs.WaitsBegun() >= n
	})
}

// unlocked fails the test when the session's mutex is still held.
func (s *session) unlocked(what string) {
	s.t.Helper()
	if !s.mutex.TryLock() {
		s.t.Fatalf("%s: the mutex is still held", what)
	}
	s.mutex.Unlock()
}

func bytesValue(text string) Value {
	return Value{Fmt: uint8(store.FormatMsgpack), Meta: wire.AppendStr(nil, text)}
}
