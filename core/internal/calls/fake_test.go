package calls

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/borrows"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/sites"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/waiting"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// session is a session whose daemon the test plays. No worker runs its tasks.
type session struct {
	Calls
	objects access.Objects
	t       *testing.T
	mutex   sync.Mutex
	store   nodestore.Store
	message borrows.Messenger
	texts   sites.Texts
	refs    *refs.Table
	own     ids.Owner
	poller  *transport.Poller
	half    submit.Submitter
	pushed  []wire.Type // what the submitting half has told the daemon

	daemonMu sync.Mutex
	answers  map[wire.Type]func(*wire.Message) // what the daemon answers
	heard    []wire.Type                       // what the daemon was told
}

// tableEffects are those of a table whose tasks nobody runs.
type tableEffects struct {
	refs.ValueEffects
	refs.LineageEffects
	refs.ReleaseEffects
	*borrows.Messenger
	s *session
}

func (e tableEffects) Wake(w *wait.Wait)              { e.s.poller.Finish(w) }
func (e tableEffects) ArrivalSite(site uint32) uint32 { return e.s.objects.ArrivalSite(site) }
func (e tableEffects) Pointer(o *refs.Object) []byte  { return e.s.objects.Pointer(o) }
func (e tableEffects) Free(list [][]byte) {
	e.s.objects.PushDaemon(wire.TObjFree, wire.ObjRefs{ObjectIDs: list})
}
func (e tableEffects) DropCopy(o *refs.Object) bool             { return e.s.store.ObjectGone(o) }
func (tableEffects) CopyLost(ids.Object)                        {}
func (tableEffects) Needed()                                    {}
func (tableEffects) Unseen(*refs.Object)                        {}
func (tableEffects) Check([]*refs.Object) bool                  { return false }
func (tableEffects) Siblings(o *refs.Object) []*refs.Object     { return []*refs.Object{o} }
func (tableEffects) Reply(q *wire.Message, _ *refs.Object)      { _ = q.Reply(nil) }
func (e tableEffects) Ready(t refs.Task)                        { e.s.half.ArgumentReady(t) }
func (tableEffects) RecipeGone(refs.Task)                       {}
func (tableEffects) Infeasible(refs.Task, *fault.Error)         {}
func (e tableEffects) SourceGone(x refs.Source, o *refs.Object) { e.s.half.SourceGone(x, o) }

// TakeDrops implements borrows.Session.
func (s *session) TakeDrops() { s.objects.TakeDrops() }

// submitEffects is what the submitting half has a session do, in which no worker is found.
type submitEffects session

var _ submit.Effects = (*submitEffects)(nil)

func (e *submitEffects) Push(t wire.Type, _ any)                          { e.pushed = append(e.pushed, t) }
func (*submitEffects) PushTo(uint32, wire.Type, any)                      {}
func (*submitEffects) NodeName(uint32) string                             { return "" }
func (*submitEffects) RoundTrip(uint32) time.Duration                     { return 0 }
func (*submitEffects) Request(wire.Type, any, func(*wire.Message, error)) {}
func (*submitEffects) Tell(string, wire.Type, any, func(error))           {}
func (*submitEffects) Known(string) bool                                  { return false }
func (*submitEffects) Connect(*submit.Channel, string, wire.Hello, int)   {}
func (*submitEffects) After(d time.Duration, f func()) submit.Timer       { return time.NewTimer(time.Hour) }
func (*submitEffects) Promote(*submit.Task, []*refs.Object)               {}
func (*submitEffects) Report([]*waiting.Report)                           {}
func (*submitEffects) Warn(string)                                        {}
func (*submitEffects) Unheld(uint64, string, *fault.Error)                {}
func (*submitEffects) NeverFetched(uint64, string, []byte, uint64)        {}
func (*submitEffects) LessNeeded()                                        {}
func (*submitEffects) Maker(*submit.Template) uint32                      { return 0 }
func (*submitEffects) Number(_ string, otherwise int) int                 { return otherwise }
func (*submitEffects) Log(string)                                         {}
func (*submitEffects) Descriptor(int, bool)                               {}

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

func newSession(t *testing.T) *session {
	t.Helper()
	s := &session{t: t, own: ids.NewWorkerOn(1).Owner(), answers: map[wire.Type]func(*wire.Message){}}
	s.store.Init(nodestore.Options{Mu: &s.mutex})
	links := transport.NewLinks(&s.mutex, &s.message, nil, func() wire.Hello { return wire.Hello{} }, nil)
	s.message.Init(&s.mutex, s, links, transport.NewServed(&s.mutex, nil, nil))
	s.objects.InitObjects(access.Parts{Mu: &s.mutex, Store: &s.store, Borrows: &s.message, Sites: &s.texts, Submit: &s.half})
	s.half.Init((*submitEffects)(s), submit.Settings{Lineage: submit.Lineage{Limit: 1 << 30, Bytes: 1 << 30}})
	s.InitCalls(Parts{Mu: &s.mutex, Objects: &s.objects, Store: &s.store, Submit: &s.half})
	s.refs = refs.NewTable(s.own, ids.JobOf(1), "/own.sock", tableEffects{Messenger: &s.message, s: s})
	s.store.Join(s.own, s.refs)
	s.message.Join(s.refs)
	s.half.Join(submit.Member{Self: s.own, Job: ids.JobOf(1), Addr: "/own.sock"}, s.refs)
	s.CallWith(s.refs)
	s.objects.JoinTable(s.own, "/own.sock", s.refs)
	fd, err := store.CreateMemory("calls", 1<<20)
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
	s.poller = poller
	if err := s.objects.WaitWith(poller); err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	daemon := wire.NewPeer(there, s.hear, nil)
	us := wire.NewPeer(here, func(*wire.Message) {}, nil)
	s.store.Serve(us)
	s.objects.AskAt(us)
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
		s.objects.CloseAsync()
		s.store.Close()
		s.half.End(fault.New(fault.Closed, "the test is over"))
		s.half.ClosePage()
		links.Close()
	})
	return s
}

// hear answers what the daemon is asked.
func (s *session) hear(m *wire.Message) {
	s.daemonMu.Lock()
	defer s.daemonMu.Unlock()
	s.heard = append(s.heard, m.Type)
	if f := s.answers[m.Type]; f != nil {
		f(m)
		return
	}
	_ = m.Reply(nil)
}

// on has the daemon answer messages of a type with a function.
func (s *session) on(t wire.Type, f func(*wire.Message)) {
	s.daemonMu.Lock()
	defer s.daemonMu.Unlock()
	s.answers[t] = f
}
func (e tableEffects) DropView(view uint64) { e.s.store.Drop(view) }
