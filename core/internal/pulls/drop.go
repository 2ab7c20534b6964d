package pulls

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/dir"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// MayDrop asks whether replicas of this node may be dropped, of the directories that know them. Answer is called later, under the
// lock. It returns those that stay all the same. See objects.Notify.
func (p *Pulls) MayDrop(list []ids.Object, answer func(may []bool) (kept []ids.Object)) {
	if p.closed {
		return
	}
	may := make(map[ids.Object]bool, len(list))
	versions := make(map[ids.Object]uint64, len(list))
	var own []linkmsg.ObjectVersion
	there := make(map[uint32][]linkmsg.ObjectVersion)
	for _, id := range list {
		h := p.held[id]
		if h == nil { // it was freed meanwhile
			may[id] = true
			continue
		}
		v := linkmsg.ObjectVersion{ID: id, Version: h.version}
		versions[id] = h.version
		if p.here(id) {
			own = append(own, v)
		} else {
			there[id.Owner().Node()] = append(there[id.Owner().Node()], v)
		}
	}
	p.later(func() { // the store is at work
		for _, v := range own {
			may[v.ID] = p.dir.Drop(v.ID, dir.Version(v.Version), dir.Node(p.o.Node))
		}
		p.flush()
		p.askAll(linkmsg.ObjectDrop, there, func(v linkmsg.ObjectVersion, i int, a *linkmsg.ObjectAnswer) { may[v.ID] = saysYes(a, i) }, func() {
			p.dropped(list, versions, may, answer)
		})
	})
}

// dropped passes the answers on to the store, and says again that this node has what stays.
func (p *Pulls) dropped(list []ids.Object, versions map[ids.Object]uint64, may map[ids.Object]bool, answer func([]bool) []ids.Object) {
	yes := make([]bool, len(list))
	gone := make(map[ids.Object]*held)
	for i, id := range list {
		yes[i] = may[id]
		h := p.held[id]
		switch {
		case h == nil || h.version != versions[id]: // it was freed meanwhile
		case may[id]:
			delete(p.held, id)
			gone[id] = h
		default:
			h.replica = false
		}
	}
	for _, id := range answer(yes) {
		if h := gone[id]; h != nil {
			p.held[id] = h
			p.tellOwner(linkmsg.ObjectHas, id, h.version)
		}
	}
}
