package executor

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/borrows"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/sites"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// session is a worker's session whose daemon and callers the test plays.
type session struct {
	Executor
	objects access.Objects
	t       *testing.T
	mutex   sync.Mutex
	store   nodestore.Store
	message borrows.Messenger
	texts   sites.Texts
	refs    *refs.Table
	own     ids.Owner
	needed  bool // others need this worker
	ended   int  // how often the process was ended

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
func (e tableEffects) DropCopy(o *refs.Object) bool         { return e.s.store.ObjectGone(o) }
func (tableEffects) CopyLost(ids.Object)                    {}
func (tableEffects) Needed()                                {}
func (tableEffects) Unseen(*refs.Object)                    {}
func (tableEffects) Check([]*refs.Object) bool              { return false }
func (tableEffects) Siblings(o *refs.Object) []*refs.Object { return []*refs.Object{o} }
func (tableEffects) Reply(q *wire.Message, _ *refs.Object)  { _ = q.Reply(nil) }
func (tableEffects) Infeasible(refs.Task, *fault.Error)     {}
func (tableEffects) SourceGone(refs.Source, *refs.Object)   {}

// TakeDrops implements borrows.Session.
func (s *session) TakeDrops() { s.objects.TakeDrops() }

// CancelChildren implements Session.
func (s *session) CancelChildren(uint64, bool) <-chan struct{} { return nil }

// WouldLose implements Session.
func (s *session) WouldLose() bool { return s.needed }

// Failed implements Session.
func (s *session) Failed(err error) { s.t.Error(err) }

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
	s.objects.InitObjects(access.Parts{Mu: &s.mutex, Store: &s.store, Borrows: &s.message, Sites: &s.texts})
	s.InitExecutor(&s.mutex)
	s.refs = refs.NewTable(s.own, ids.JobOf(1), "/own.sock", tableEffects{Messenger: &s.message, s: s})
	s.store.Join(s.own, s.refs)
	s.message.Join(s.refs)
	s.objects.JoinTable(s.own, "/own.sock", s.refs)
	fd, err := store.CreateMemory("executor", 1<<20)
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
	if err := s.objects.WaitWith(poller); err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	daemon := wire.NewPeer(there, s.hear, nil)
	us := wire.NewPeer(here, func(*wire.Message) {}, nil)
	s.store.Serve(us)
	s.objects.AskAt(us)
	s.TakeCalls(Parts{
		Session: s, Objects: &s.objects, Table: s.refs, Store: &s.store, Poller: poller, Borrows: &s.message,
		Job: ids.JobOf(1), Self: s.own, Die: func() { s.ended++ },
	})
	s.objects.WorkFor(s.exec)
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

// told counts the messages of a type that the daemon has heard. All that was said before has come.
func (s *session) told(t wire.Type) (n int) {
	s.t.Helper()
	if err := s.objects.CallDaemon(wire.TObjStats, nil, nil); err != nil {
		s.t.Fatal(err)
	}
	s.daemonMu.Lock()
	defer s.daemonMu.Unlock()
	for _, x := range s.heard {
		if x == t {
			n++
		}
	}
	return n
}

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

// calls has a caller send a template with this function's id and calls of it; the mutex is held.
func (s *session) calls(role string, fid [16]byte, seqs ...uint32) (*execute.Caller, *pipe) {
	s.t.Helper()
	p := new(pipe)
	k := s.exec.AddCaller(p, &wire.Hello{Role: role}, -1)
	frames := [][]byte{frame.AppendTemplate(nil, &frame.Template{ID: 1, Kind: frame.KindTask, FID: fid[:], Name: "f", Returns: 1})}
	for _, seq := range seqs {
		b, at := frame.BeginTask(nil, seq, 1, 40, false)
		none := store.AppendEnvelope(nil, store.FormatNone, nil)
		frames = append(frames, frame.End(frame.AppendCount(frame.AppendInline(b, none), 0), at))
	}
	for _, b := range frames {
		if used, err := k.Frames(b); err != nil || used != len(b) {
			s.t.Fatalf("%d of %d bytes read: %v", used, len(b), err)
		}
	}
	return k, p
}
