package nodeprocess

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/heads"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A node has a session with each head, and speaks with the one that leads: on a stream, so that a head that leads no more ends
// the conversation and not the session. Every head says who leads, at once when that changes.

// headList is what a node knows of the heads.
type headList struct {
	socket string   // where the head of this machine is reached; empty: there is none
	given  []string // the addresses that the node was started with

	mu      sync.Mutex
	heads   linkmsg.Heads        // as it was said last
	health  []linkmsg.HeadHealth // as the head that leads has said; empty: it has not yet
	local   uint32               // the number of the head at the socket
	changed chan struct{}        // closed at the next change
}

// newHeadList returns a list that begins with what the head has said that let the node in.
func newHeadList(socket string, given []string, h linkmsg.Heads) *headList {
	l := &headList{socket: socket, given: given, heads: h, local: h.From, changed: make(chan struct{})}
	if !h.Leads {
		l.heads.Leader = h.From // it may know better later
	}
	return l
}

// has reports whether the number is that of a head.
func (l *headList) has(number uint32) bool { return slices.Contains(l.numbers(), number) }

// numbers returns the numbers of all heads.
func (l *headList) numbers() (list []uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.heads.All {
		list = append(list, h.Number)
	}
	return list
}

// leading returns the head that leads, or that has led last.
func (l *headList) leading() uint32 {
	number, _, _ := l.leader()
	return number
}

// leader returns the head that leads, whether anybody does, and a channel that is closed when something has changed.
func (l *headList) leader() (number uint32, leads bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heads.Leader, l.heads.Leads, l.changed
}

// addresses returns where a head is dialed.
func (l *headList) addresses(number uint32) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socket != "" && number == l.local {
		return []string{l.socket}
	}
	for _, h := range l.heads.All {
		if h.Number == number {
			return l.of(h)
		}
	}
	return nil
}

// of returns the addresses of a head. If it is the only one, the addresses that the node was started with may be better ones: the head may not know what this
// machine calls it. mu is held.
func (l *headList) of(h linkmsg.HeadAt) []string {
	if len(l.heads.All) > 1 {
		return h.Addresses
	}
	list := slices.Clone(l.given)
	for _, a := range h.Addresses {
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// everywhere returns all addresses at which a head may be.
func (l *headList) everywhere() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.given)
	for _, h := range l.heads.All {
		for _, a := range h.Addresses {
			if !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// heard takes what a head says. What a head of an earlier term says does not count.
func (l *headList) heard(h linkmsg.Heads) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Before(&l.heads) || len(h.All) == 0 {
		return
	}
	if h.Leads && h.From == h.Leader {
		l.health = h.Health
	} else if h.Leads && h.Leader != l.heads.Leader {
		l.health = nil
	}
	if !h.Leads { // the one before is tried on, until somebody knows another one
		h.Leader, h.Leads = l.heads.Leader, l.heads.Leads && !l.heads.Before(&h)
	}
	l.heads = h
	close(l.changed)
	l.changed = make(chan struct{})
}

// now returns what is known of the heads.
func (l *headList) now() (linkmsg.Heads, []linkmsg.HeadHealth) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heads, l.health
}

// headSays takes a control message of a head.
func (m *member) headSays(msg *wire.Message) bool {
	if msg.Type != linkmsg.THeads {
		return false
	}
	var h linkmsg.Heads
	err := linkmsg.Decode("who leads", msg.Body, linkmsg.MaxHello*linkmsg.MaxHeads, &h)
	if err == nil {
		err = h.Check()
	}
	if err != nil {
		m.log.Error("a message of a head cannot be understood: the connection is closed", "error", err)
		return false
	}
	m.heads.heard(h)
	m.revokedAgain()
	return true
}

// followHeads keeps sessions with all heads. When none is heard for a while, it asks at all addresses where the heads are now.
func (m *member) followHeads() {
	tick := time.NewTicker(lookForHeads)
	defer tick.Stop()
	for {
		_, _, changed := m.heads.leader()
		for _, number := range m.heads.numbers() {
			if k, err := m.links.To(number); err == nil {
				_, _ = k.Control() // from now on it is dialed again whenever it breaks
			}
		}
		m.noteHeads()
		select {
		case <-changed:
		case <-tick.C:
			if m.head.Silence() > lookForHeads {
				m.lookForHeads()
			}
		case <-m.ctx.Done():
			return
		}
	}
}

// noteHeads writes down where the heads are, for programs and commands of this machine.
func (m *member) noteHeads() {
	known, now := heads.Of(m.session), m.heads.everywhere()
	if slices.ContainsFunc(now, func(a string) bool { return !slices.Contains(known, a) }) {
		if err := heads.Write(m.session, now); err != nil {
			m.log.Warn("programs will not find this node by the addresses of all heads", "error", err)
		}
	}
}

// lookForHeads is how long no head that leads may be heard before the node looks for heads at new addresses.
const lookForHeads = 3 * time.Second

func (m *member) lookForHeads() {
	ctx, cancel := context.WithTimeout(m.ctx, 2*lookForHeads)
	defer cancel()
	if err := m.asker().Where(ctx, m.heads.heard); err != nil && ctx.Err() == nil {
		m.log.Warn("no head is heard, and none answers at the addresses that are known; it is tried again", "error", err)
	}
}

// Pauses between two attempts to speak with a head that ends the conversation.
const (
	talkPause = 10 * time.Millisecond
	maxPause  = time.Second
)

// converse speaks with the head that leads.
func (m *member) converse() {
	pause := talkPause
	for m.ctx.Err() == nil {
		number, _, changed := m.heads.leader()
		begun := time.Now()
		p := m.speakWith(number)
		if p != nil {
			for wait := true; wait; {
				select {
				case <-p.Done():
					wait = false
				case <-changed:
					var now uint32
					if now, _, changed = m.heads.leader(); now != number {
						wait = false
					}
				case <-m.ctx.Done():
					wait = false
				}
			}
			p.Close()
		}
		if now, _, _ := m.heads.leader(); now != number || time.Since(begun) > maxPause {
			pause = talkPause
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-changed:
		case <-m.ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, maxPause)
	}
}

// speakWith opens a conversation with a head; nil if there is none.
func (m *member) speakWith(number uint32) *wire.Peer {
	k, err := m.links.To(number)
	if err != nil {
		return nil
	}
	s, err := k.Open([]byte(linkmsg.Conversation))
	if err != nil {
		return nil
	}
	p := wire.NewPeer(s, process.Handler(m.head.Handle), nil)
	p.Start()
	m.head.Connected(p)
	return p
}
