package resume

import (
	"bytes"
	"fmt"
	"time"
)

// What the programs of the world see, compared with what was written.

// actions carries out what a session wants.
func (n *node) actions() error {
	s := n.s
	list := n.w.bug.actions(n, s.Actions())
	for _, a := range list {
		n.w.note("%d: %s", n.i, a)
		if err := n.do(s, a); err != nil {
			return fmt.Errorf("node %d, %s: %w", n.i, a, err)
		}
		if a.Kind == Lost {
			return nil
		}
	}
	for _, a := range list {
		if a.Kind == Writable {
			if e := n.ends[a.Stream]; e != nil {
				n.flush(e)
			}
		}
	}
	if len(s.actions) > 0 {
		return n.actions()
	}
	n.bound = s.peerBoot
	return nil
}

func (n *node) do(s *Session, a Action) error {
	e := n.ends[a.Stream]
	switch a.Kind {
	case Dial:
		n.dials = append(n.dials, a)
		return nil
	case Drop:
		for _, x := range n.w.wires {
			if p := x.ends[n.i]; p != nil && p.s == s && p.c == a.Conn {
				n.w.closesPlug(x, n.i)
			}
		}
		return nil
	case Lost:
		return n.loses(a.Why)
	case Opened:
		r := n.peers(a.Stream)
		if e != nil || r == nil || r.opened || r.target != string(a.Bytes) {
			return fmt.Errorf("the peer opened %+v, and this end has %+v", r, e)
		}
		r.opened = true
		n.add(a.Stream, r.target)
		return nil
	}
	if e == nil {
		return fmt.Errorf("the stream is over at this end")
	}
	switch a.Kind {
	case Data:
		return n.arrives(e, a.Bytes)
	case Writable:
		if !e.waits {
			return fmt.Errorf("nobody waits for that")
		}
		e.waits = false
	case Ended:
		n.remove(e)
		if s.lost != 0 {
			return nil // loses checks the reason
		}
		if r := n.peers(e.id); r == nil || r.why != a.Why || r.written != e.read {
			return fmt.Errorf("%d bytes were read, and the peer has written %+v", e.read, r)
		}
	}
	return nil
}

// arrives checks bytes of a stream, and what Control must have before them.
func (n *node) arrives(e *end, b []byte) error {
	r := n.peers(e.id)
	if !bytes.Equal(b, contents(n.s.peerBoot, e.id, e.read, len(b))) {
		return fmt.Errorf("other bytes were written at %d", e.read)
	}
	e.read += uint64(len(b))
	e.held += len(b)
	if e.read > r.written {
		return fmt.Errorf("%d bytes came, and %d were written", e.read, r.written)
	}
	control := n.ends[Control].read
	for len(r.fences) > 0 && r.fences[0].at < e.read {
		if r.fences[0].control > control {
			return fmt.Errorf("%d bytes of control came before, and %d were written before", control, r.fences[0].control)
		}
		if len(r.fences) > 1 && r.fences[1].at < e.read {
			r.fences = r.fences[1:]
			continue
		}
		break
	}
	return nil
}

// loses checks that a session may be over, and begins the next one.
func (n *node) loses(why Reason) error {
	for _, e := range n.order {
		if e.id != Control {
			return fmt.Errorf("stream %d has not ended", e.id)
		}
	}
	may := map[Reason]bool{
		NodeDead:      n.dead,
		PeerRestarted: n.w.over[n.bound],
		NoPath:        n.time()-n.went >= n.w.o.patience(),
	}[why]
	if !may {
		return fmt.Errorf("that has no reason")
	}
	n.begins(n.s.o)
	return nil
}

func (o Options) patience() time.Duration {
	if o.Patience == 0 {
		return DefaultPatience
	}
	return o.Patience
}
