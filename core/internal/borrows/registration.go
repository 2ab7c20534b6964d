package borrows

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What callers and workers say to each other about the references inside calls and
// results: see registration.go and confirmations.go of package refs.

// ackPatience is how long an answer waits for owners.
const ackPatience = 5 * time.Millisecond

// AwaitRegistered waits a moment until all references that came here are registered,
// and reports whether they are. While an owner is known to be late it does not
// wait. The mutex is released meanwhile.
func (m *Messenger) AwaitRegistered() bool {
	if t := m.table; t.Unregistered() > 0 && !t.OwnerLate() {
		w := wait.New()
		t.AwaitRegistered(w)
		m.session.Await(w, time.Now().Add(ackPatience))
		t.StopAwaitingRegistered(w)
	}
	return m.table.Unregistered() == 0
}

// Receipt implements refs.OwnerEffects.
func (m *Messenger) Receipt(worker string, answer uint64) {
	m.links.To(worker).Do(func(p *wire.Peer, err error) {
		if err == nil {
			_ = p.Push(wire.TReceived, wire.Received{Answer: answer})
		}
	})
}

// AskRegistered implements refs.OwnerEffects.
func (m *Messenger) AskRegistered(r *refs.Retained, pause time.Duration) {
	if pause == 0 {
		m.askRegistered(r)
		return
	}
	time.AfterFunc(pause, func() {
		m.event(func(*refs.Table) { m.askRegistered(r) })
	})
}

func (m *Messenger) askRegistered(r *refs.Retained) {
	m.ask(r.Worker(), wire.TRegistered, nil, func(t *refs.Table, yes bool) { t.WorkerRegistered(r, yes) })
}

// AskRead implements refs.OwnerEffects.
func (m *Messenger) AskRead(s refs.TaskSocket, pause time.Duration) {
	time.AfterFunc(pause, func() {
		m.event(func(t *refs.Table) {
			if t.HoldsFor(s) {
				m.ask(s.Addr, wire.TAnswersRead, wire.AnswersRead{Actor: s.Actor, Number: s.Number}, func(t *refs.Table, yes bool) { t.CallerRead(s, yes, pause) })
			}
		})
	})
}

// ask asks the process at an address a question that it answers with yes or no. One that
// has ended, or does not answer the question, keeps nothing: that is a yes. It may have passed
// on what it got, so one of another node is given the time in which the processes that
// have it now register (wire.Linger).
func (m *Messenger) ask(addr string, kind wire.Type, question any, answered func(t *refs.Table, yes bool)) {
	said := func(yes bool) {
		m.event(func(t *refs.Table) { answered(t, yes) })
	}
	ended := func() {
		m.event(func(t *refs.Table) {
			if elsewhere(t, addr) {
				time.AfterFunc(wire.Linger, func() { said(true) })
			} else {
				answered(t, true)
			}
		})
	}
	m.links.To(addr).Do(func(p *wire.Peer, err error) {
		if err != nil {
			ended()
			return
		}
		p.Go(kind, question, func(reply *wire.Message, err error) {
			var yes bool
			if err == nil {
				err = reply.Decode(&yes)
			}
			if err != nil {
				ended()
				return
			}
			said(yes)
		})
	})
}

// elsewhere reports whether the process at an address runs on another node than the table's.
func elsewhere(t *refs.Table, addr string) bool {
	o, err := wire.ParseAddress(addr)
	return err == nil && o.Node() != t.Self().Node()
}
