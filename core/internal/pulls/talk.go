package pulls

import (
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// tell tells a node what has become of an object. If that node is dead, nobody is told.
func (p *Pulls) tell(node uint32, what linkmsg.ObjectEvent, list ...linkmsg.ObjectVersion) {
	n := linkmsg.ObjectNews{What: what, List: list}
	if node == p.o.Node {
		_ = p.heard(node, &n)
		return
	}
	if peer, err := p.o.Network.Control(node); err == nil {
		_ = push(peer, &n) // if the connection has ended, the node is dead
	}
}

// tellOwner tells the node of the object's owner.
func (p *Pulls) tellOwner(what linkmsg.ObjectEvent, id ids.Object, version uint64) {
	p.tell(id.Owner().Node(), what, linkmsg.ObjectVersion{ID: id, Version: version})
}

func push(peer *wire.Peer, n *linkmsg.ObjectNews) error {
	body, err := linkmsg.Encode("news about objects", n)
	if err != nil {
		return err
	}
	return peer.Push(linkmsg.TObjectNews, body)
}

// ask asks another node. Done is called once, without the lock, after ask has returned.
func (p *Pulls) ask(peer *wire.Peer, q *linkmsg.ObjectAsk, done func(*linkmsg.ObjectAnswer, error)) {
	body, err := linkmsg.Encode("a question about objects", q)
	if err != nil {
		p.run(func() { done(nil, err) })
		return
	}
	peer.Go(linkmsg.TObjectAsk, body, func(m *wire.Message, err error) {
		var a linkmsg.ObjectAnswer
		if err == nil {
			err = linkmsg.DecodeObjects(m, &a)
		}
		done(&a, err)
	})
}

// askAll asks other nodes a question about each of their objects, at most linkmsg.MaxObjects in one message. It calls one for each object, with the
// answer of its node and the object's place in that answer, and then all, under the lock. The answer of a node that is dead is empty.
func (p *Pulls) askAll(what linkmsg.ObjectQuestion, lists map[uint32][]linkmsg.ObjectVersion, one func(v linkmsg.ObjectVersion, i int, a *linkmsg.ObjectAnswer), all func()) {
	left := 1
	answered := func(list []linkmsg.ObjectVersion, a *linkmsg.ObjectAnswer) {
		for i, v := range list {
			one(v, i, a)
		}
		if left--; left == 0 {
			all()
		}
	}
	for node, list := range lists {
		peer, err := p.o.Network.Control(node)
		for part := range slices.Chunk(list, linkmsg.MaxObjects) {
			left++
			if err != nil {
				answered(part, new(linkmsg.ObjectAnswer))
				continue
			}
			p.ask(peer, &linkmsg.ObjectAsk{What: what, List: part}, func(a *linkmsg.ObjectAnswer, err error) {
				if err != nil {
					a = new(linkmsg.ObjectAnswer)
				}
				p.locked(func() { answered(part, a) })
			})
		}
	}
	answered(nil, nil)
}

// saysYes reports whether the answer to a question is yes for one of the objects that it named.
func saysYes(a *linkmsg.ObjectAnswer, i int) bool { return i < len(a.Yes) && a.Yes[i] }

// reply answers another node.
func reply(m *wire.Message, a *linkmsg.ObjectAnswer) {
	body, err := linkmsg.Encode("an answer about objects", a)
	if err != nil {
		_ = m.Fail(err)
		return
	}
	_ = m.Reply(body)
}
