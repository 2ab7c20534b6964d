package resume

import (
	"bytes"
	"errors"
	"fmt"
)

// The network of the world: how connections come to be, carry bytes and end.

// dialsOne connects a node to its peer, if its session has asked for it.
func (n *node) dialsOne() {
	if len(n.dials) == 0 {
		return
	}
	c, relay := n.dials[0].Conn, false
	if n.dials[0].Relay {
		relay = n.w.wall != [2]bool{} || n.w.d.OneIn(2)
	}
	n.dials = n.dials[1:]
	if !relay && n.w.wall != [2]bool{} {
		n.w.note("%d dials %d, and nobody hears it", n.i, c)
		return
	}
	if !n.w.calm && n.w.d.OneIn(5) {
		n.w.note("%d fails to dial %d", n.i, c)
		n.s.Detached(c)
		return
	}
	h, err := n.s.Hello(c)
	if err != nil {
		return // the session has given the attempt up
	}
	x := &cable{id: len(n.w.wires), dialer: n.i, relay: relay}
	x.ends[n.i] = &plug{n: n, s: n.s, c: c, waits: true}
	x.ends[1-n.i] = &plug{n: n.w.nodes[1-n.i], waits: true}
	n.w.wires = append(n.w.wires, x)
	n.w.note("%d dials connection %d as cable %d, relay %v: %+v", n.i, c, x.id, relay, h)
	n.w.bug.hello(n, &h)
	x.hello = h.Append(nil)
	n.send(x, x.hello)
}

// send puts bytes on a cable, in parts of any size.
func (n *node) send(x *cable, b []byte) {
	for len(b) > 0 && n.w.carries(x, 1-n.i) {
		k := n.w.d.Between(1, len(b))
		if n.w.d.OneIn(2) {
			k = len(b)
		}
		n.w.net.Send(way{x.id, 1 - n.i}, bytes.Clone(b[:k]))
		b = b[k:]
	}
}

// closesPlug ends a connection at one end. The other end hears of it behind what was sent.
func (w *world) closesPlug(x *cable, i int) {
	p := x.ends[i]
	if p.closed {
		return
	}
	p.closed = true
	w.note("%d closes cable %d", i, x.id)
	if w.carries(x, 1-i) {
		w.net.Send(way{x.id, 1 - i}, nil)
	}
}

// deliver has the next bytes of some cable arrive.
func (w *world) deliver() error {
	at, b, ok := w.net.Deliver()
	if !ok {
		return nil
	}
	x, p := w.wires[at.wire], w.wires[at.wire].ends[at.to]
	if p == nil || p.closed {
		return nil
	}
	n := p.n
	if len(b) == 0 {
		w.note("%d hears the end of cable %d", n.i, x.id)
		w.closesPlug(x, n.i)
		if p.s == n.s {
			w.bug.beforeDetached(n, p.c)
			n.s.Detached(p.c)
		}
		return nil
	}
	w.note("%d gets %d bytes of cable %d", n.i, len(b), x.id)
	p.buf = append(p.buf, b...)
	if p.waits {
		if err := w.greets(x, p); err != nil || p.waits || p.closed {
			return err
		}
	}
	for p.s == n.s && !p.closed {
		f, rest, ok, err := ParseFrame(p.buf)
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		w.bug.frame(n, &f)
		err = n.s.Received(p.c, f)
		if err == nil {
			p.buf = rest
			w.bug.received(n, f)
		} else if !errors.Is(err, ErrConn) {
			return err // the network changes no bytes, and both ends keep the rules
		}
		if err := n.actions(); err != nil {
			return err
		}
		if errors.Is(err, ErrConn) {
			w.closesPlug(x, n.i)
		}
	}
	return nil
}

// greets reads the hello, or the answer to it.
func (w *world) greets(x *cable, p *plug) error {
	if len(p.buf) < HelloSize {
		return nil
	}
	h, err := ParseHello(p.buf[:HelloSize])
	if err != nil {
		return err
	}
	n := p.n
	p.waits, p.buf = false, p.buf[HelloSize:]
	if p.s != nil {
		if p.s != n.s {
			return nil
		}
		w.bug.hello(n, &h)
		if err = n.s.Attach(p.c, h, x.relay); err != nil {
			w.note("%d refuses the answer on cable %d: %v", n.i, x.id, err)
			w.closesPlug(x, n.i)
		}
		w.bug.attached(n, err)
		return n.proper(err)
	}
	w.bug.hello(n, &h)
	c, answer, err := n.s.Accept(h, x.relay)
	if errors.Is(err, ErrLost) { // a new session takes it
		if err := n.actions(); err != nil {
			return err
		}
		c, answer, err = n.s.Accept(h, x.relay)
	}
	w.note("%d accepts cable %d as connection %d: %v", n.i, x.id, c, err)
	p.s, p.c = n.s, c
	w.bug.attached(n, err)
	if err == nil || errors.Is(err, ErrStale) {
		w.bug.hello(n, &answer)
		n.send(x, answer.Append(nil))
	}
	if err != nil {
		w.closesPlug(x, n.i)
	} else if !w.calm && (w.d.OneIn(10) || w.rough && w.d.OneIn(2)) {
		w.note("the answer on cable %d is lost", x.id)
		x.dead = true
		w.net.Lose(way{x.id, 1 - n.i})
		w.net.Send(way{x.id, n.i}, nil)
		if w.d.OneIn(2) {
			w.net.Send(way{x.id, 1 - n.i}, nil)
		}
	}
	return n.proper(err)
}

// proper returns an error that no session may give while the network changes no bytes.
func (n *node) proper(err error) error {
	for _, usual := range []error{nil, ErrStale, ErrSurplus, ErrConn, ErrLost} {
		if errors.Is(err, usual) {
			return nil
		}
	}
	return fmt.Errorf("node %d: %w", n.i, err)
}

// cuts breaks a connection. Some of what is under way is lost, and maybe only one end hears of it.
func (w *world) cuts() {
	x := w.liveCable()
	if x == nil {
		return
	}
	x.dead = true
	for to := range 2 {
		k := way{x.id, to}
		w.net.Lose(k)
		hears := !w.d.OneIn(4)
		w.note("cable %d is cut, and %d hears of it: %v", x.id, to, hears)
		if hears {
			w.net.Send(k, nil)
		}
	}
}

// blocks holds up one direction of a cable, or lets all go on.
func (w *world) blocks() {
	if w.d.OneIn(2) {
		w.note("all cables carry")
		w.net.UnblockAll()
		return
	}
	if x := w.liveCable(); x != nil {
		to := w.d.N(2)
		w.note("cable %d carries nothing to %d", x.id, to)
		w.net.Block(way{x.id, to})
	}
}

// walls has the direct way between the nodes carry nothing any more, in one direction or in both, or heals it.
func (w *world) walls() {
	w.wall = [2]bool{}
	if w.d.OneIn(3) {
		w.wall[w.d.N(2)] = true
	}
	if w.d.OneIn(3) {
		w.wall = [2]bool{true, true}
	}
	w.note("nothing goes directly to node 0: %v, to node 1: %v", w.wall[0], w.wall[1])
}

// carries reports whether what is sent on a cable arrives. What a wall has stopped is lost with all that is sent later.
func (w *world) carries(x *cable, to int) bool {
	x.dead = x.dead || w.wall[to] && !x.relay
	return !x.dead
}

// liveCable returns a cable whose ends are both in use, or nil.
func (w *world) liveCable() *cable {
	var live []*cable
	for _, x := range w.wires {
		if !x.ends[0].closed && !x.ends[1].closed {
			live = append(live, x)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return live[w.d.N(len(live))]
}

// replays has a hello that was said once arrive again, over a connection of its own whose other end is nobody.
func (w *world) replays() {
	if len(w.wires) == 0 {
		return
	}
	x := w.wires[max(0, len(w.wires)-1-w.d.N(10))]
	y := &cable{id: len(w.wires), dialer: x.dialer, hello: x.hello}
	y.ends[x.dialer] = &plug{n: w.nodes[x.dialer], closed: true}
	y.ends[1-x.dialer] = &plug{n: w.nodes[1-x.dialer], waits: true}
	w.wires = append(w.wires, y)
	w.note("the hello of cable %d comes again on cable %d", x.id, y.id)
	w.nodes[x.dialer].send(y, x.hello)
	w.net.Send(way{y.id, 1 - x.dialer}, nil)
}

// pump writes what a session has to send to its connection, unless much is on the way.
func (n *node) pump() error {
	for _, x := range n.w.wires {
		p := x.ends[n.i]
		if p == nil || p.closed || p.waits || p.s != n.s || n.s.conn == nil || n.s.conn.id != p.c || n.w.net.Waiting(way{x.id, 1 - n.i}) > 8 {
			continue
		}
		if err := n.sends(x, p.c); err != nil {
			return err
		}
	}
	return nil
}

// sends checks what a session sends: the numbers of its frames, and that no stream waits for too many turns of others.
func (n *node) sends(x *cable, c ConnID) error {
	n.w.bug.beforeNext(n)
	waiting := map[StreamID]int{}
	for id, s := range n.s.streams {
		if s.out.n > 0 {
			waiting[id] = s.out.n
		} else {
			delete(n.since, id)
		}
	}
	streams, made := len(n.s.streams), n.s.made
	b := n.s.Next(c, nil)
	if len(b) > 0 {
		n.w.note("%d writes %d bytes to cable %d", n.i, len(b), x.id)
	}
	n.send(x, b)
	for len(b) > 0 {
		f, rest, ok, err := ParseFrame(b)
		if err != nil || !ok {
			return fmt.Errorf("node %d sends what is no frame: %v", n.i, err)
		}
		b = rest
		if f.Kind == kindAck || f.Number <= n.most {
			continue
		}
		if f.Number != n.most+1 {
			return fmt.Errorf("node %d sends frame %d after frame %d", n.i, f.Number, n.most)
		}
		n.most = f.Number
		if f.Kind != kindData || f.Stream == Control {
			continue
		}
		delete(n.since, f.Stream)
		if f.Number <= made {
			continue // its turn was before this call
		}
		waiting[f.Stream] -= len(f.Body)
		for id, left := range waiting {
			if id == f.Stream || left <= 0 {
				continue
			}
			w := n.since[id]
			w.turns, w.streams = w.turns+1, max(w.streams, streams)
			if w.turns >= w.streams {
				return fmt.Errorf("stream %d of node %d waits while others have %d turns, and there are %d streams", id, n.i, w.turns, w.streams)
			}
			n.since[id] = w
		}
	}
	return nil
}
