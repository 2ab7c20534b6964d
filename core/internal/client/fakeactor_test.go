package client

import (
	"net"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// fakeActor is an actor of the fake daemon: it lives in one worker of the test
// after the other.
type fakeActor struct {
	d       *fakeDaemon
	spec    []byte
	program func(inc uint64, c *Client, it *Item)
	left    int // restarts; -1: without end

	construct func(c *Client) // in the constructor; nil: nothing
	unsettled bool            // what ActorReady said of the references that came with it

	inc     uint64
	alive   bool
	dead    bool
	worker  *Client
	page    *progress.Reader
	numbers map[uint64]*progress.Numbers
	asked   []asked
	lives   bool       // who asks after an incarnation that runs is told so
	cause   fault.Code // how those that are followed by another ended
}

// asked is a question that waits.
type asked struct {
	m     *wire.Message
	owner ids.Owner
	after uint64
	lost  *wire.ActorLost
}

// act makes what NewActor registers next run the program, which gets method calls only.
func (d *fakeDaemon) act(restarts int, program func(inc uint64, c *Client, it *Item)) *fakeActor {
	a := &fakeActor{d: d, left: restarts, program: program, numbers: map[uint64]*progress.Numbers{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.actors = map[ids.Actor]*fakeActor{{}: a}
	return a
}

// mortal is an actor whose first call runs until the test says that its worker dies with it. The
// calls of its next incarnations are echoed, unless next says otherwise.
type mortal struct {
	*fakeActor
	id   ids.Actor
	runs chan struct{} // is closed when the first call runs
	ends chan struct{} // the test closes it, and the worker dies
	next func(c *Client, it *Item)
}

// mortal makes what NewActor registers next such an actor. If readable is false nobody can read which calls had begun.
func (d *fakeDaemon) mortal(restarts int, readable bool) *mortal {
	a := &mortal{runs: make(chan struct{}), ends: make(chan struct{}), next: echo}
	a.fakeActor = d.act(restarts, func(inc uint64, c *Client, it *Item) {
		if inc > 1 {
			a.next(c, it)
			return
		}
		close(a.runs)
		<-a.ends
		a.die(a.id, readable)
	})
	return a
}

// create has a driver create the actor.
func (a *mortal) create(t *testing.T, c *Client) ids.Actor {
	t.Helper()
	a.id = newActor(t, c, ActorSpec{ActorCreate: wire.ActorCreate{MaxRestarts: a.left}})
	return a.id
}

// actorMessage serves what concerns actors; mu held.
func (d *fakeDaemon) actorMessage(m *wire.Message) {
	switch m.Type {
	case wire.TActorCreate:
		var q wire.ActorCreate
		_ = m.Decode(&q)
		a := d.actors[ids.Actor{}]
		a.spec = q.Spec
		d.actors[ids.Actor(q.ActorID)] = a
		_ = m.Reply(wire.ActorCreated{})
		go a.begin(q.ActorID)
	case wire.TActorReady:
		var q wire.ActorReady
		_ = m.Decode(&q)
		if a := d.actors[ids.Actor(q.ActorID)]; a.inc == q.Incarnation {
			a.alive, a.unsettled = true, q.Unregistered
			a.answer()
		}
	case wire.TActorResolve:
		var q wire.ActorResolve
		_ = m.Decode(&q)
		d.ask(q.ActorID, asked{m: m, after: q.After})
	case wire.TActorLost:
		q := new(wire.ActorLost)
		_ = m.Decode(q)
		d.ask(q.ActorID, asked{m: m, after: q.Incarnation, lost: q})
	}
}

func (d *fakeDaemon) ask(id []byte, q asked) {
	a := d.actors[ids.Actor(id)]
	if a == nil {
		_ = q.m.Fail(fault.New(fault.NotFound, "no such actor"))
		return
	}
	for w, p := range d.peerOf {
		if p == q.m.Peer() {
			q.owner = w.Owner()
		}
	}
	a.asked = append(a.asked, q)
	a.answer()
}

// answer tells those what they wait for that can be told; the daemon's mu held.
func (a *fakeActor) answer() {
	a.asked = slices.DeleteFunc(a.asked, func(q asked) bool {
		switch {
		case q.lost == nil && a.dead:
			_ = q.m.Reply(wire.ActorState{State: wire.ActorDead, Message: "it is dead"})
		case q.lost == nil && a.alive && a.inc > q.after:
			_ = q.m.Reply(wire.ActorState{State: wire.ActorAlive, Incarnation: a.inc, Addr: a.worker.info.Addr, Unregistered: a.unsettled})
		case q.lost != nil && a.dead:
			_ = q.m.Reply(wire.ActorDeath{State: wire.ActorDead, Message: "it is dead"})
		case q.lost != nil && a.lives && a.alive && a.inc == q.after:
			_ = q.m.Reply(wire.ActorDeath{State: wire.ActorAlive, Message: "it lives"})
		case q.lost != nil && a.inc > q.after:
			f := wire.ActorDeath{State: wire.ActorRestarting, Cause: string(a.cause), Message: "it restarts"}
			f.Started, f.Known = a.numbers[q.after].Of(progress.Caller{Owner: q.owner, Conn: q.lost.Conn})
			_ = q.m.Reply(f)
		default:
			return false
		}
		return true
	})
}

// begin starts the next incarnation.
func (a *fakeActor) begin(id []byte) {
	a.d.mu.Lock()
	a.inc++
	inc := a.inc
	a.d.mu.Unlock()
	w, err := a.d.workerFor(forActor, func(c *Client, it *Item) {
		if it.Kind == ItemActor {
			if a.construct != nil {
				a.construct(c)
			}
			_ = c.ActorReady(it.Token, true, "", nil, nil)
			return
		}
		a.program(inc, c, it)
	})
	if err != nil {
		a.d.mu.Lock()
		defer a.d.mu.Unlock()
		if !a.d.ends { // a restart may be under way when the test is over
			a.d.t.Errorf("start an actor's worker: %v", err)
		}
		return
	}
	// A test that needs no actor may be over before its worker is known.
	a.d.eventually("the worker's connection is known", func() bool { return a.d.ends || a.d.peerOf[w.info.Worker] != nil })
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	p := a.d.peerOf[w.info.Worker]
	if p == nil {
		return
	}
	a.worker = w
	_ = p.Push(wire.TActorStart, wire.ActorStart{ActorID: id, ClassName: "A", Incarnation: inc, Spec: a.spec, Restarts: true})
}

// givePage serves an actor's worker that asks for its page.
func (d *fakeDaemon) givePage(u *net.UnixConn, owner []byte) {
	fd, r, err := progress.CreateActorPage()
	if err != nil {
		d.t.Error(err)
		return
	}
	defer unix.Close(fd)
	defer u.Close()
	d.mu.Lock()
	for _, a := range d.actors {
		if a.worker != nil && a.worker.self == ids.Owner(owner) {
			a.page = r
		}
	}
	d.mu.Unlock()
	if err := wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, fd); err != nil {
		d.t.Error(err)
	}
}

// die ends the incarnation as a crash does: what it has not sent is lost. The
// page is read when the process is gone, and the next incarnation begins unless
// none is left. From the program, or from elsewhere while no call runs.
func (a *fakeActor) die(id ids.Actor, readable bool) {
	a.worker.Close(0)
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if readable && a.page != nil {
		a.numbers[a.inc] = a.page.Read()
	}
	a.alive = false
	if a.left == 0 {
		a.dead = true
		a.answer()
		return
	}
	if a.left > 0 {
		a.left--
	}
	// The end is told before the next one is up, as the real daemon does.
	a.inc++
	a.answer()
	a.inc--
	go a.begin(id[:])
}
