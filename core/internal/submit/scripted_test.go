package submit

import (
	"fmt"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/waiting"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// scripted is a session that notes in words what the submitting half does.
type scripted struct {
	*quiet
	notes   []string
	tasks   map[string]*Task
	names   map[uint64]string // of tasks, by the count of the first return
	order   []string          // of tasks, as they were submitted
	seen    map[string]string // what was noted of each task's result
	actors  map[string]*Actor
	classes map[uint32]string
	sockets map[string]*scriptedPipe // by lease or actor
	waiting map[string]func(m *wire.Message, err error)
}

func newScripted(q *quiet) *scripted {
	s := &scripted{quiet: q, tasks: map[string]*Task{}, names: map[uint64]string{}, seen: map[string]string{}, actors: map[string]*Actor{},
		classes: map[uint32]string{}, sockets: map[string]*scriptedPipe{}, waiting: map[string]func(*wire.Message, error){}}
	q.fx = s
	return s
}

func (s *scripted) notef(format string, a ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, a...))
}

// take returns what was noted, and what has become of results.
func (s *scripted) take() []string {
	for _, name := range s.order {
		if now := s.result(name); now != s.seen[name] {
			s.seen[name] = now
			s.notef("%s: %s", name, now)
		}
	}
	out := s.notes
	s.notes = nil
	return out
}

// result says what a task's first result is.
func (s *scripted) result(name string) string {
	o := s.table.FindOwned(s.tasks[name].First)
	switch {
	case o == nil:
		return "nobody holds it"
	case o.State() == refs.Failed:
		return "fails, " + string(o.Fault().Code)
	case o.State() == refs.Infeasible:
		return "cannot be scheduled"
	case !o.State().Ready():
		return "pending"
	case o.IsError():
		return "an exception"
	}
	return "a value"
}

// object names what messages name by an id.
func (s *scripted) object(id []byte) string {
	o, err := ids.ParseObject(id)
	if err != nil {
		return "nonsense"
	}
	first := o.Count() - uint64(max(o.Index(), 1)-1)
	return fmt.Sprintf("%s.%d", s.names[first], o.Index())
}

func (s *scripted) actorName(id []byte) string {
	for name, a := range s.actors {
		if string(a.ID[:]) == string(id) {
			return name
		}
	}
	return "new actor"
}

// Push implements Effects.
func (s *scripted) Push(t wire.Type, body any) { s.daemonHears("", t, body) }

// PushTo implements Effects.
func (s *scripted) PushTo(node uint32, t wire.Type, body any) {
	s.daemonHears(fmt.Sprintf("node %d: ", node), t, body)
}

// leaseName names a lease: those of the own node by the number alone.
func leaseName(id uint64) string {
	if node := leases.NodeOf(id); node > 0 {
		return fmt.Sprintf("lease %d of node %d", uint32(id), node)
	}
	return fmt.Sprint("lease ", id)
}

// daemonHears notes what a daemon is told. Where names the node, unless that is the own one.
func (s *scripted) daemonHears(where string, t wire.Type, body any) {
	note := func(format string, a ...any) { s.notef("%s%s", where, fmt.Sprintf(format, a...)) }
	switch m := body.(type) {
	case wire.ClassDefine:
		s.classes[m.ClassID] = m.Name
		note("class %d is for %s", m.ClassID, m.Name)
	case wire.LeaseWant:
		if t == wire.TClassRetire {
			note("class %d is gone", m.ClassID)
			return
		}
		what := fmt.Sprintf("%s wants leases: %d", s.classes[m.ClassID], m.Want)
		if m.Due > 0 {
			what += fmt.Sprintf(", of them due: %d", m.Due)
		}
		if m.Ticket > 0 {
			what += fmt.Sprintf(", ticket %d", m.Ticket)
		}
		if where != "" {
			what += fmt.Sprintf(", answers seen: %d", m.Seen-1)
		}
		note("%s", what)
	case wire.LeaseRefused:
		note("the offer with ticket %d is not used", m.Ticket)
	case wire.LeaseMove:
		note("%s serves %s", leaseName(m.LeaseID), s.classes[m.ClassID])
	case wire.LeaseReturn:
		what := "goes back"
		if m.Exiting {
			what += ", its worker ends"
		}
		if m.Unusable {
			what += ", nobody can use it"
		}
		note("%s %s", leaseName(m.LeaseID), what)
	case wire.ObjRefs:
		var list []string
		for _, id := range m.ObjectIDs {
			list = append(list, s.object(id))
		}
		note("the store frees %s", strings.Join(list, " "))
	case wire.ActorRef:
		note("%s is let go of", s.actorName(m.ActorID))
	case wire.FunctionRef:
		note("workers forget function %.4s", m.FID)
	default:
		note("the daemon hears %s", t)
	}
}

// Request implements Effects.
func (s *scripted) Request(t wire.Type, body any, answered func(*wire.Message, error)) {
	name := fmt.Sprint(t)
	switch m := body.(type) {
	case *wire.ActorCreate:
		name = "create " + s.actorName(m.ActorID)
	case wire.ActorResolve:
		name = "where " + s.actorName(m.ActorID)
	case wire.ActorLost:
		name = "what became of " + s.actorName(m.ActorID)
		if m.Incarnation == wire.ActorNever {
			name = "death of " + s.actorName(m.ActorID)
		}
	case nil:
		name = "freed"
	}
	s.notef("asks: %s", name)
	s.waiting[name] = answered
}

// Tell implements Effects.
func (s *scripted) Tell(addr string, t wire.Type, body any, done func(error)) {
	name := fmt.Sprintf("%s to %s", t, addr)
	if q, ok := body.(wire.Cancel); ok {
		name = "cancel " + addr
		if q.Force {
			s.notef("with force:")
		}
	}
	s.notef("tells: %s", name)
	s.waiting[name] = func(_ *wire.Message, err error) { done(err) }
}

// Connect implements Effects.
func (s *scripted) Connect(o *Channel, addr string, hello wire.Hello, page int) {
	p := &scriptedPipe{s: s, name: addr, on: o}
	if page >= 0 {
		p.mark = progress.OpenMark(page, hello.Slot, hello.LeaseID)
	}
	s.sockets[addr] = p
	s.notef("opens a socket to %s", addr)
}

// Promote implements Effects.
func (s *scripted) Promote(t *Task, list []*refs.Object) {
	s.notef("moves %d arguments of %s to the store", len(list), s.names[t.First])
	s.waiting["moved "+s.names[t.First]] = func(_ *wire.Message, err error) { s.Promoted(t, err) }
}

// Report implements Effects.
func (s *scripted) Report(list []*waiting.Report) {
	for _, r := range list {
		s.notef("the user hears: %s", r.Warning(r.Why))
	}
}

// Warn implements Effects.
func (s *scripted) Warn(text string) { s.notef("the user hears: %s", text) }

// Unheld implements Effects.
func (s *scripted) Unheld(first uint64, _ string, f *fault.Error) {
	s.notef("%s fails, %s, and nobody holds it", s.names[first], f.Code)
}

// NeverFetched implements Effects.
func (s *scripted) NeverFetched(first uint64, _ string, _ []byte, _ uint64) {
	s.notef("%s has an exception that nobody holds", s.names[first])
}

// scriptedPipe is a socket that notes the frames which leave.
type scriptedPipe struct {
	s      *scripted
	name   string
	on     *Channel
	out    []byte
	ended  bool
	refuse bool // it took nothing of the last call
	mark   progress.Mark
	callOf map[string]uint32 // numbers of calls, by task
}

func (p *scriptedPipe) Buffer() []byte                             { return p.out }
func (p *scriptedPipe) Unsent() int                                { return len(p.out) }
func (p *scriptedPipe) Refused() bool                              { return p.refuse }
func (*scriptedPipe) Full() bool                                   { return false }
func (*scriptedPipe) WhenSent(func())                              {}
func (*scriptedPipe) Flush()                                       {}
func (*scriptedPipe) SendSoon()                                    {}
func (*scriptedPipe) CallAnswered(uint32, time.Duration)           {}
func (*scriptedPipe) TellWakeup()                                  {}
func (*scriptedPipe) FD() int                                      { return -1 }
func (p *scriptedPipe) Closed() bool                               { return p.ended }
func (p *scriptedPipe) SendCall(b []byte, _ uint32, _ int, _ bool) { p.Queue(b) }

// Close implements Pipe.
func (p *scriptedPipe) Close() {
	if !p.ended {
		p.s.notef("%s: the socket is closed", p.name)
	}
	p.ended = true
	p.mark.Close()
}

// CloseWhenRead implements Pipe.
func (p *scriptedPipe) CloseWhenRead() { p.Close() }

// Queue implements Pipe.
func (p *scriptedPipe) Queue(b []byte) {
	used, err := frame.Each(b, func(b []byte) error {
		r, op, n, err := frame.Open(b)
		if err != nil {
			return err
		}
		switch op {
		case wire.OpTemplate:
			x, err := frame.ReadTemplate(&r)
			p.s.notef("%s: template %s, with code %v", p.name, x.Name, x.Blob != nil)
			return err
		case wire.OpTask:
			x, err := frame.ReadTask(&r, n)
			name := p.s.names[x.First]
			if p.callOf == nil {
				p.callOf = map[string]uint32{}
			}
			p.callOf[name] = x.Seq
			p.s.notef("%s: call %d is %s", p.name, x.Seq, name)
			return err
		case wire.OpTaken:
			seq, n, err := frame.ReadTaken(&r)
			p.s.notef("%s: items of call %d that are taken: %d", p.name, seq, int64(n))
			return err
		case wire.OpForget:
			p.s.notef("%s: a template is forgotten", p.name)
			return nil
		case wire.OpAssign:
			return nil
		}
		p.s.notef("%s: frame %v", p.name, op)
		return nil
	})
	if err != nil || used != len(b) {
		p.s.t.Fatalf("what is sent is no list of frames: %v", err)
	}
	p.out = b[:0]
}
