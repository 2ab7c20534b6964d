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
	p.askAll(linkmsg.ObjectThere, there, func(v linkmsg.ObjectVersion, i int, a *linkmsg.ObjectAnswer) {
		if !saysYes(a, i) {
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
