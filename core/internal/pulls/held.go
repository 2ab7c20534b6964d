package pulls

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/dir"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/planted"
)

// The daemon calls the methods of this file with the lock held.

// Made says that a process has room for an object, which it will write. If the owner is on another node, or other nodes know of
// the object, they are told first. Then is called once, perhaps later and without the lock. What the process
// writes to another node after that arrives after the news.
func (p *Pulls) Made(c objects.Holder, id ids.Object, size uint64, then func(error)) {
	if p.o.Network == nil || p.here(id) && !p.dir.Knows(id) {
		then(nil)
		return
	}
	h := &held{version: p.newVersion(), making: true}
	if p.here(id) {
		p.held[id] = h
		p.dir.Made(id, dir.Version(h.version), size, dir.Node(p.o.Node))
		p.flush()
		then(nil)
		return
	}
	peer, err := p.o.Network.Control(id.Owner().Node())
	if err == nil && planted.Strikes(planted.LateNews) {
		p.held[id] = h
		p.run(func() {
			then(nil)
			time.Sleep(planted.Late)
			_ = push(peer, &linkmsg.ObjectNews{What: linkmsg.ObjectMade, List: []linkmsg.ObjectVersion{{ID: id, Version: h.version, Size: size}}})
		})
		return
	}
	if err == nil {
		err = push(peer, &linkmsg.ObjectNews{What: linkmsg.ObjectMade, List: []linkmsg.ObjectVersion{{ID: id, Version: h.version, Size: size}}})
	}
	if err != nil {
		p.o.Store.Free(c, id)
		then(p.ownerGone(id))
		return
	}
	p.held[id] = h
	p.run(func() {
		_ = peer.Flush(p.ctx) // if the connection ends, the owner's node is dead
		then(nil)
	})
}

// Sealed says that an object is written.
func (p *Pulls) Sealed(id ids.Object) {
	if h := p.held[id]; h != nil && h.making {
		h.making = false
		p.tellOwner(linkmsg.ObjectHas, id, h.version)
	}
}

// Freed says that an object's owner, which is a process of this node, has freed it.
func (p *Pulls) Freed(id ids.Object) {
	if !p.dir.Empty() {
		p.dir.Freed(id)
		p.flush()
	}
}

// OwnerGone says that a process of this node has ended. What it owned is freed everywhere.
func (p *Pulls) OwnerGone(o ids.Owner) {
	if !p.dir.Empty() {
		p.dir.OwnerGone(o)
		p.flush()
	}
}

// Lost says that the store lacks an object that nobody has freed. The store is at work, so others are told later.
func (p *Pulls) Lost(id ids.Object) {
	h := p.held[id]
	if h == nil || p.closed {
		return
	}
	delete(p.held, id)
	p.later(func() { p.tellOwner(linkmsg.ObjectGone, id, h.version) })
}

// free gives up what this node has of an object: one version, or all if the owner has freed it.
func (p *Pulls) free(id ids.Object, version uint64) {
	if x := p.pulls[id]; x != nil {
		x.freed(version)
	}
	h := p.held[id]
	if h == nil || version != 0 && version != h.version {
		return
	}
	delete(p.held, id)
	if version != 0 && !h.making {
		p.o.Store.Supersede(p, id) // the newer version may be pulled
		return
	}
	p.o.Store.Free(p, id)
}

// promote notes that the object counts as the only copy.
func (p *Pulls) promote(id ids.Object, version uint64) {
	if h := p.held[id]; h != nil && h.version == version && h.replica {
		h.replica = false
		p.o.Store.Promote(id)
	}
}
