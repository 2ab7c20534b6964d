package headgroup

import (
	"sync"
	"time"
)

// A head that is removed is needed until Raft does without it: its vote may be one of the majority that has to confirm the removal, and the next leader may need it to be
// elected. So it works on until it is a member no more, however long that takes, and only then it ends.

// removal is what a head knows of its own removal.
type removal struct {
	begin sync.Once
	end   sync.Once
	done  chan struct{} // closed when this head is removed
}

// Removed is closed when this head was removed from the cluster and is not needed any more.
func (g *Group) Removed() <-chan struct{} { return g.removed.done }

// NoteRemoved notes in this head's file that it belongs to the cluster no more.
func (g *Group) NoteRemoved() error { return g.o.Book.Remove() }

// beginRemoval is called when the state says that this head is to be removed.
func (g *Group) beginRemoval() {
	g.removed.begin.Do(func() {
		g.o.Log.Warn("this head is being removed from the cluster, and works on until the others do without it")
		g.goWork(g.awaitRemoval)
	})
}

// awaitRemoval waits until Raft has this head among the members no more.
func (g *Group) awaitRemoval() {
	tick := time.NewTicker(lookEvery / 10)
	defer tick.Stop()
	for g.isMember() {
		select {
		case <-tick.C:
		case <-g.removed.done:
			return
		case <-g.ctx.Done():
			return
		}
	}
	g.endRemoval()
}

// Forgotten is called when another head has said that the cluster has no head like this one. If the state of this head says that it was to be removed, that has happened, and this
// head has missed it, since it was cut off.
func (g *Group) Forgotten() {
	if e, known := g.own(); known && e.Removed {
		g.endRemoval()
	}
}

func (g *Group) endRemoval() { g.removed.end.Do(func() { close(g.removed.done) }) }

// own returns what the state says of this head.
func (g *Group) own() (e Entry, known bool) {
	b, known := g.state.Setting(SettingOf(g.o.ID))
	if !known {
		return e, false
	}
	e, err := ParseEntry(b)
	return e, err == nil
}

func (g *Group) isMember() bool {
	for _, m := range g.state.Members() {
		if m.ID == g.o.ID {
			return true
		}
	}
	return false
}
