package pulls

import (
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

// reply answers another node.
func reply(m *wire.Message, a *linkmsg.ObjectAnswer) {
	body, err := linkmsg.Encode("an answer about objects", a)
	if err != nil {
		_ = m.Fail(err)
		return
	}
	_ = m.Reply(body)
}
