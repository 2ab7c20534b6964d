package headlink

import (
	"context"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/alive"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/record"
)

// The server hears the nodes' heartbeats, has package alive decide who lives, and does what that package asks for.

// State is what the judgement of the nodes needs of the cluster's state. raftstate.Node has these methods.
type State interface {
	Node(id ids.Node) (record.Node, bool)
	ListNodes() []record.Node
	// NodeDead declares a node dead; once more is no error.
	NodeDead(ctx context.Context, id ids.Node, reason string, atMs int64) error
	// Confirm commits something that changes nothing.
	Confirm() error
}

// Judge says how the server finds out which nodes live.
type Judge struct {
	Timing alive.Timing
	Now    func() time.Duration // the boot time of this machine
	State  State
	// Exclusive says whether actors are exclusive whose creators have not said it.
	Exclusive bool
}

// lives is the machine of package alive with what belongs to it. The server's lock guards it.
type lives struct {
	Judge
	machine     *alive.Heads // nil: nobody is judged (yet)
	timer       *time.Timer
	unreachable map[uint32]bool // until Forget
}

// Judge has the server judge the nodes from the time on at which it serves its head. Nodes that the state has as alive, and that
// do not come, die. It is called before Serve; without it no node dies of silence.
func (s *Server) Judge(j Judge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = lives{Judge: j, unreachable: map[uint32]bool{}}
}

// beginToJudge is called when the head leads and its state is whole.
func (s *Server) beginToJudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.lives
	if l.State == nil || s.closed {
		return
	}
	var living, dead []uint32
	for _, n := range l.State.ListNodes() {
		switch {
		case n.Number == 0:
		case n.State != record.NodeDead:
			living = append(living, n.Number)
		case !n.Gone:
			dead = append(dead, n.Number)
		}
	}
	l.machine = alive.NewHeads(l.Timing, l.Now(), living, dead)
	l.timer = time.AfterFunc(time.Hour, s.timePasses)
	s.carryOut()
}

// timePasses runs when the machine wants to know the time.
func (s *Server) timePasses() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.lives.machine.Advance(s.lives.Now())
	s.carryOut()
}

// carryOut does what the machine asks for, and sets the timer; mu held.
func (s *Server) carryOut() {
	l := &s.lives
	for list := l.machine.Actions(); len(list) > 0; list = l.machine.Actions() {
		for _, a := range list {
			s.judged(a)
		}
	}
	if at, some := l.machine.NextTime(); some && !s.closed {
		l.timer.Reset(max(0, at-l.Now()))
	} else {
		l.timer.Stop()
	}
}

// judged does one thing that the machine asks for; mu held.
func (s *Server) judged(a alive.Action) {
	l := &s.lives
	switch a.Kind {
	case alive.Propose:
		if l.machine.Living() == 1 {
			// The cluster is one node. Only this head counts on it, and a later head begins to count anew. So a heartbeat needs no
			// commit, and a cluster that does nothing writes nothing.
			l.machine.Committed(a.Number, true)
			return
		}
		s.work(func() { s.confirm(a.Number) })
	case alive.Acknowledge:
		s.say(place.Node(a.Node), linkmsg.TCounted, &linkmsg.Number{N: a.Number})
	case alive.Unreachable, alive.Reachable:
		silent := a.Kind == alive.Unreachable
		if silent {
			s.log.Warn("nothing is heard of a node; nothing new is placed there", "node", a.Node, "for", l.Timing.Unreachable, "dead after", l.Timing.Dead)
		} else {
			s.log.Info("a node is heard again", "node", a.Node)
		}
		s.noteSilence(a.Node, silent)
	case alive.Dead:
		// Until Forget, the node may still be connected: nothing may be placed there while its death is being committed.
		s.placing.decide(func(m *place.Machine) { m.Suspect(place.Node(a.Node), true) })
		s.declare(a)
	case alive.TellDead:
		s.tellDead(a.Node)
	case alive.MayRestart:
		s.releasePassed()
	}
}

// work starts a goroutine that Close waits for; mu held.
func (s *Server) work(f func()) {
	if !s.closed {
		s.ends.Go(f)
	}
}

// confirm has a round committed.
func (s *Server) confirm(round uint64) {
	err := s.lives.State.Confirm()
	if err != nil && s.ctx.Err() == nil {
		s.log.Error("the heartbeats of the nodes are not acknowledged", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives.machine.Committed(round, err == nil)
	s.carryOut()
}

// noteSilence notes whether a node is unreachable; mu held.
func (s *Server) noteSilence(number uint32, silent bool) {
	if silent {
		s.lives.unreachable[number] = true
	} else {
		delete(s.lives.unreachable, number)
	}
	s.placing.decide(func(m *place.Machine) { m.Suspect(place.Node(number), silent) })
}

// declare has the death of a node committed, unless it is; mu held.
func (s *Server) declare(a alive.Action) {
	var why string
	switch a.Why {
	case alive.Silent:
		why = fmt.Sprintf("nothing was heard from it for %v", s.lives.Timing.Dead)
	default:
		return // whoever has the proof has committed the death
	}
	n, known := s.nodeRecord(a.Node)
	if !known || n.State == record.NodeDead {
		return
	}
	s.log.Error("a node is dead", "node", a.Node, "name", n.Name, "why", why)
	s.work(func() {
		for s.ctx.Err() == nil {
			err := s.lives.State.NodeDead(s.ctx, n.ID, why, time.Now().UnixMilli())
			if err == nil {
				return
			}
			s.log.Error("the death of a node is not committed; it is tried again", "node", a.Node, "error", err)
			s.pause()
		}
	})
}

// nodeRecord returns what the state has of the node with that number.
func (s *Server) nodeRecord(number uint32) (record.Node, bool) {
	for _, n := range s.lives.State.ListNodes() {
		if n.Number == number {
			return n, true
		}
	}
	return record.Node{}, false
}

// tellDead tells a node that is connected that it is dead; mu held. One that is not connected hears it when it connects.
func (s *Server) tellDead(number uint32) {
	n, known := s.nodeRecord(number)
	if !known {
		if s.nodes[number] == nil {
			return
		}
		n = record.Node{ID: s.nodes[number].id, Number: number, Reason: "the cluster does not know it any more"}
	}
	n.State = record.NodeDead
	s.say(place.Node(number), linkmsg.TNews, &linkmsg.News{Nodes: []record.Node{n}})
}

// seen tells the machine what has become of nodes, as the feed says; mu held.
func (s *Server) seen(nodes []record.Node) {
	l := &s.lives
	if l.machine == nil {
		return
	}
	for i := range nodes {
		switch n := &nodes[i]; {
		case n.Number == 0:
		case n.Gone:
			l.machine.Gone(n.Number, alive.Obituary)
		case n.State == record.NodeDead:
			l.machine.Died(n.Number)
		default:
			l.machine.Up(n.Number)
		}
	}
	s.carryOut()
	s.releasePassed()
}

// heartbeat takes a heartbeat of the node.
func (c *session) heartbeat(number uint64) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.lives
	if l.machine == nil || c.node == nil {
		return
	}
	switch n, known := l.State.Node(c.id); {
	case !known || n.State == record.NodeDead:
		s.tellDead(c.number)
	default:
		l.machine.Up(c.number) // the feed may be late
		l.machine.Heard(c.number, number)
	}
	s.carryOut()
}

// mark sets in the records of living nodes which of them are unreachable.
func (s *Server) mark(list []record.Node) []record.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		list[i].Wire = s.wireOf(list[i].Number)
		list[i].Unreachable = list[i].State != record.NodeDead && s.lives.unreachable[list[i].Number]
	}
	return list
}

// deadAfter returns after how much silence a node is dead, in milliseconds; 0: no node dies of silence. mu is held.
func (s *Server) deadAfter() int64 { return s.lives.Timing.Dead.Milliseconds() }
