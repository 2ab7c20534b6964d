package actorends

import (
	"context"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Head is what is asked of the head. inquiry.Head describes the methods.
type Head interface {
	Actor(ctx context.Context, id ids.Actor) (record.Actor, error)
	Ended(id ids.Actor, incarnation uint64, done func(record.Resolution, error)) (cancel func() bool)
}

// Network leads to the daemons of other nodes.
type Network interface {
	// Control returns the control connection with a node. It does not wait.
	Control(node uint32) (*wire.Peer, error)
}

// Options are what Ends need of their node.
type Options struct {
	Node    uint32
	Network Network                      // nil: there are no other nodes
	Address func(a *record.Actor) string // of the node on which an actor runs or has run
	// Alive reports whether an incarnation runs on this node and takes calls, and its process.
	Alive   func(ID) (pid int, alive bool)
	Refused func(error) // notes that a message of another node makes no sense
}

// Ends answers questions about the ends of incarnations.
type Ends struct {
	*Incarnations
	o Options
}

// New returns Ends without incarnations.
func New(o Options) *Ends { return &Ends{NewIncarnations(), o} }

// nodeOf returns the number of the node of an incarnation that had an address, 0 for none.
func nodeOf(i record.Instance) uint32 {
	o, err := wire.ParseAddress(i.Address)
	if err != nil {
		return 0
	}
	return o.Node()
}

// AwaitGone waits until the process of an incarnation is gone, or the context ends. The cluster knows that it has ended.
func (e *Ends) AwaitGone(ctx context.Context, i record.Instance) {
	gone := make(chan struct{})
	e.when(i, progress.Caller{}, func(End) { close(gone) })
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// when tells what is known of an incarnation when its process is gone.
func (e *Ends) when(i record.Instance, c progress.Caller, tell func(End)) {
	id, node := ID{i.Actor, i.Incarnation}, nodeOf(i)
	if node == 0 || node == e.o.Node || e.o.Network == nil {
		e.Await(id, c, tell)
		return
	}
	e.ask(node, id, c, true, func(a *linkmsg.ActorEnd) {
		if a == nil {
			tell(End{})
		} else {
			tell(End{Known: a.Known, Started: a.Started, Detail: a.Detail})
		}
	})
}

// ask asks another node about an incarnation. Done is called once, on another goroutine; with nil if the node does not answer.
func (e *Ends) ask(node uint32, id ID, c progress.Caller, wait bool, done func(*linkmsg.ActorEnd)) {
	q := linkmsg.ActorEndAsk{Actor: id.Actor, Incarnation: id.Incarnation, Caller: c.Owner, Conn: c.Conn, Wait: wait}
	b, err := linkmsg.Encode("a question about an actor", &q)
	var peer *wire.Peer
	if err == nil {
		peer, err = e.o.Network.Control(node)
	}
	if err != nil {
		go done(nil)
		return
	}
	peer.Go(linkmsg.TActorEnd, b, func(m *wire.Message, err error) {
		var a *linkmsg.ActorEnd
		if err == nil {
			if a, err = linkmsg.DecodeActorEnd(m.Body); err != nil {
				e.o.Refused(err)
			}
		}
		done(a)
	})
}

// Handle takes a message of another node. It reports false for one that is not about ends of actors.
func (e *Ends) Handle(m *wire.Message) bool {
	if m.Type != linkmsg.TActorEnd {
		return false
	}
	var q linkmsg.ActorEndAsk
	if err := linkmsg.Decode("a question about an actor", m.Body, linkmsg.MaxHello, &q); err != nil {
		e.o.Refused(err)
		_ = m.Fail(err)
		return true
	}
	id := ID{q.Actor, q.Incarnation}
	if !q.Wait {
		a := linkmsg.ActorEnd{}
		a.Pid, a.Alive = e.o.Alive(id)
		e.reply(m, &a)
		return true
	}
	e.Await(id, progress.Caller{Owner: q.Caller, Conn: q.Conn}, func(x End) {
		e.reply(m, &linkmsg.ActorEnd{Known: x.Known, Started: x.Started, Detail: x.Detail})
	})
	return true
}

func (e *Ends) reply(m *wire.Message, a *linkmsg.ActorEnd) {
	a.Fit()
	b, err := linkmsg.Encode("how an actor's incarnation has ended", a)
	if err != nil {
		_ = m.Fail(err)
		return
	}
	_ = m.Reply(msgpack.RawMessage(b))
}
