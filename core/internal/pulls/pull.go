package pulls

import (
	"context"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/objects"
)

// stage is what a pull does.
type stage uint8

const (
	asking  stage = iota // it waits for the answer where the object is
	waiting              // it waits until others have ended, or for room in the store
	reading              // its streams read chunks
	pausing              // it waits before it reads again
	ending               // it has ended, and others still copy from its room
)

// Pauses between attempts that brought nothing.
const (
	firstPause = 20 * time.Millisecond
	maxPause   = 2 * time.Second
)

// pull is an object that is being brought from another node. It is the holder of its room in the store.
type pull struct {
	p       *Pulls
	id      ids.Object
	prio    Priority
	waiters []waiter
	stage   stage
	over    bool

	version, size uint64
	holders       []uint32                // from which it reads, at least one
	begun         bool                    // the only one pulls the object itself
	placed        bool                    // the directory has it pull from them
	failed        []linkmsg.HolderFailure // from which it could not read in the last attempt
	fell          bool                    // the directory has not been told of that
	falls         int                     // attempts in a row that brought nothing

	admitted bool
	reserved uint64        // the bytes for which it was admitted
	room     *room         // nil until the store has given some
	news     chan struct{} // closed, and made anew, when chunks have come or the stage has changed
	chunks   chunks
	streams  []*stream // that write into the room
	readers  int       // connections of other nodes that copy from the room
	err      error
	ctx      context.Context // of the streams
	cancel   context.CancelFunc
	whole    context.Context // ends when nothing is left to read
	enough   context.CancelFunc
}

// waiter is a process that waits for the object.
type waiter struct {
	holder objects.Holder
	done   func(error)
}

// Gone implements objects.Holder.
func (x *pull) Gone() bool { return x.over }

// Elsewhere reports whether an object that a process wants is to be had by Want.
func (p *Pulls) Elsewhere(id ids.Object) bool {
	if p.o.Network == nil {
		return false
	}
	switch h := p.held[id]; {
	case h != nil && !h.making:
		return false
	case p.pulls[id] != nil:
		return true
	case p.o.Store.Has(id):
		return false
	}
	return !p.here(id) || p.dir.Knows(id)
}

// Want brings an object from another node. Done is called once, under the lock, unless the holder goes first. Without an error
// the store has the object now, or a process of this node writes it.
func (p *Pulls) Want(c objects.Holder, id ids.Object, prio Priority, done func(error)) {
	p.want(id, prio, waiter{c, done})
}

func (p *Pulls) want(id ids.Object, prio Priority, ws ...waiter) {
	x := p.pulls[id]
	if x != nil {
		x.waiters = append(x.waiters, ws...)
		x.prio = min(x.prio, prio)
		return
	}
	x = &pull{p: p, id: id, prio: prio, waiters: ws, news: make(chan struct{})}
	p.pulls[id] = x
	x.ask()
}

// ask asks the node of the owner where the object is.
func (x *pull) ask() {
	p := x.p
	x.stage, x.placed = asking, false
	q := &linkmsg.ObjectAsk{What: linkmsg.ObjectWhere, List: []linkmsg.ObjectVersion{{ID: x.id, Version: x.version}}}
	if x.fell { // it is said once: the holder may get the object again
		q.Failed, x.fell = x.failed, false
	}
	if p.here(x.id) {
		p.where(p.o.Node, q, func(a linkmsg.ObjectAnswer) { x.answered(&a) })
		return
	}
	peer, err := p.o.Network.Control(x.id.Owner().Node())
	if err != nil {
		x.end(p.ownerGone(x.id))
		return
	}
	p.ask(peer, q, func(a *linkmsg.ObjectAnswer, err error) {
		p.locked(func() {
			switch {
			case p.pulls[x.id] != x || x.stage != asking: // the node is dead, and that was said before
			case err != nil && fault.CodeOf(err) == fault.BadRequest:
				x.end(err)
			case err != nil:
				x.end(p.ownerGone(x.id))
			default:
				x.answered(a)
			}
		})
	})
}

// answered goes on with the answer where the object is.
func (x *pull) answered(a *linkmsg.ObjectAnswer) {
	x.placed = len(a.Holders) > 0
	switch {
	case !x.placed && a.Freed:
		x.end(lost(x.id, "its owner has freed it"))
	case !x.placed:
		x.end(lost(x.id, "no node has a copy"))
	case len(x.waiters) == 0, slices.Contains(a.Holders, x.p.o.Node):
		x.end(nil)
	case x.room != nil && (a.Version != x.version || a.Size != x.size):
		x.restart()
	default:
		x.version, x.size, x.holders, x.begun = a.Version, a.Size, a.Holders, a.Begun
		x.proceed()
		x.wake()
	}
}

func lost(id ids.Object, why string) error {
	return fault.New(fault.ObjectLost, "object %s is lost: %s", id, why)
}

// proceed gets room for the object, or begins to read.
func (x *pull) proceed() {
	switch {
	case x.room == nil && !x.admitted && !x.p.admit(x):
		x.wait()
	case x.room == nil:
		x.makeRoom()
	case x.falls > 0 && (x.falls > 3 || x.failedWith(x.holders[0])):
		x.pause()
	default:
		x.read()
	}
}

// wake wakes those who wait for news of the pull.
func (x *pull) wake() {
	close(x.news)
	x.news = make(chan struct{})
}

// wait gives up the place at the holder, because the pull cannot begin yet.
func (x *pull) wait() {
	x.stage = waiting
	x.stop()
}

// stop tells the directory that this node does not pull the object.
func (x *pull) stop() {
	if x.placed {
		x.placed = false
		x.p.tellOwner(linkmsg.ObjectStop, x.id, x.version)
	}
}

// makeRoom asks the store for room. When that takes a while, the pull gives up its place at the holder meanwhile.
func (x *pull) makeRoom() {
	store := x.p.o.Store
	if store.Has(x.id) { // a process of this node writes it
		x.end(nil)
		return
	}
	x.stage = waiting
	atOnce := true
	store.Create(x, x.id, x.size, func(at objects.Place, err error) {
		if err != nil {
			x.end(err)
			return
		}
		x.room = &room{arena: &x.p.arena, at: at}
		x.chunks = newChunks(x.size)
		if !atOnce {
			x.ask()
		}
	})
	atOnce = false
	switch {
	case x.stage != waiting:
	case x.room != nil:
		x.read()
	default:
		x.stop()
	}
}

// pause waits before the next attempt.
func (x *pull) pause() {
	x.stage = pausing
	time.AfterFunc(min(firstPause<<min(x.falls, 10), maxPause), func() {
		x.p.locked(func() {
			if x.stage == pausing {
				x.read()
			}
		})
	})
}

// end answers those who wait. The pull goes when nobody copies to or from its room any more.
func (x *pull) end(err error) {
	if x.stage == ending {
		return
	}
	x.stage = ending
	x.stop()
	if x.cancel != nil {
		x.cancel()
	}
	x.wake()
	ws := x.waiters
	x.waiters = nil
	for _, w := range ws {
		if !w.holder.Gone() {
			w.done(err)
		}
	}
	x.leave()
	x.p.release(x)
}

// leave takes a pull that has ended out of the tables. Those who have come meanwhile begin a new one.
func (x *pull) leave() {
	p := x.p
	if x.stage != ending || len(x.streams) > 0 || x.readers > 0 || x.over {
		return
	}
	p.o.Store.DropHolder(x, ids.Owner{})
	x.over = true
	delete(p.pulls, x.id)
	if ws := x.waiters; len(ws) > 0 {
		x.waiters = nil
		p.want(x.id, x.prio, ws...)
	}
}

// restart begins the pull anew, because another version counts now.
func (x *pull) restart() {
	ws := x.waiters
	x.waiters = nil
	x.end(nil)
	if len(ws) > 0 {
		x.p.want(x.id, x.prio, ws...)
	}
}

// freed notes that a version counts no more, or with version 0 that the owner has freed the object.
func (x *pull) freed(version uint64) {
	switch {
	case x.stage == asking || x.stage == ending: // the answer says the same
	case version == 0:
		x.placed = false
		x.end(lost(x.id, "its owner has freed it"))
	case version == x.version && x.stage != waiting:
		x.placed = false
		x.restart()
	}
}

// Left says that a process is gone. What only it waited for is not pulled any more.
func (p *Pulls) Left(c objects.Holder) {
	var idle []*pull
	for _, x := range p.pulls {
		x.waiters = slices.DeleteFunc(x.waiters, func(w waiter) bool { return w.holder == c })
		if len(x.waiters) == 0 && x.stage != asking {
			idle = append(idle, x)
		}
	}
	for _, x := range idle {
		x.end(nil)
	}
}
