package pulls

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// Missing finds out which of the objects that this node's store lacks no other node has either. Answer is called once, under the
// lock, perhaps later. An object of a node that is dead is missing.
func (p *Pulls) Missing(list [][]byte, answer func(missing [][]byte)) {
	if p.o.Network == nil || len(list) == 0 {
		answer(list)
		return
	}
	var missing [][]byte
	there := make(map[uint32][]linkmsg.ObjectVersion)
	for _, raw := range list {
		id, err := ids.ParseObject(raw)
		switch {
		case err != nil:
		case !p.here(id):
			there[id.Owner().Node()] = append(there[id.Owner().Node()], linkmsg.ObjectVersion{ID: id})
		case !p.dir.Knows(id):
			missing = append(missing, raw)
		}
	}
	p.askAll(linkmsg.ObjectThere, there, func(v linkmsg.ObjectVersion, yes bool) {
		if !yes {
			missing = append(missing, v.ID.Raw())
		}
	}, func() { answer(missing) })
}

// LostWith returns for each of these objects, whose owners are processes of this node, the name of the node with which its last copy
// was lost, "" where that is not known. It returns nil if that is known of none. The lock is held.
func (p *Pulls) LostWith(list [][]byte) (names []string) {
	for i, raw := range list {
		id, err := ids.ParseObject(raw)
		if err != nil {
			continue
		}
		if n, known := p.dir.LostWith(id); known {
			if names == nil {
				names = make([]string, len(list))
			}
			names[i] = p.nodeName(uint32(n))
		}
	}
	return names
}

// askAll asks other nodes a question about each of their objects. It calls one for each answer and then all, under the lock. The
// answer of a node that is dead is no.
func (p *Pulls) askAll(what linkmsg.ObjectQuestion, lists map[uint32][]linkmsg.ObjectVersion, one func(linkmsg.ObjectVersion, bool), all func()) {
	left := 1
	answered := func(list []linkmsg.ObjectVersion, yes []bool) {
		for i, v := range list {
			one(v, i < len(yes) && yes[i])
		}
		if left--; left == 0 {
			all()
		}
	}
	for node, list := range lists {
		peer, err := p.o.Network.Control(node)
		for len(list) > 0 {
			part := list[:min(len(list), linkmsg.MaxObjects)]
			list = list[len(part):]
			left++
			if err != nil {
				answered(part, nil)
				continue
			}
			p.ask(peer, &linkmsg.ObjectAsk{What: what, List: part}, func(a *linkmsg.ObjectAnswer, err error) {
				p.locked(func() {
					if err != nil {
						answered(part, nil)
					} else {
						answered(part, a.Yes)
					}
				})
			})
		}
	}
	answered(nil, nil)
}
