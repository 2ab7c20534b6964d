package headgroup

import (
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Heads returns what this head knows of the heads.
func (g *Group) Heads() linkmsg.Heads {
	h := linkmsg.Heads{Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Level: g.state.Level(), Generation: g.o.Generation, Term: g.state.Term(), From: g.o.Number}
	h.All, _ = g.o.Book.List()
	if id := g.state.Leader(); id != "" && id != g.o.ID {
		h.Leader, h.Leads = g.o.Book.Number(id)
	} else if serves := g.servesIn(); serves != 0 && serves == h.Term && !g.stalled() {
		h.Leader, h.Leads = g.o.Number, true
		if s := g.seenNow(); s != nil {
			h.Health = s.told()
		}
	}
	return h
}

func (g *Group) servesIn() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.serves
}

// Serves says that this head serves the nodes as the leader of a term; 0: it does not any more.
func (g *Group) Serves(term uint64) {
	g.setServes(term)
	g.tell()
}

func (g *Group) setServes(term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serves = term
}

// Connected tells a node or a head on a new session who leads, and at each change.
func (g *Group) Connected(p *wire.Peer) {
	g.addPeer(p)
	g.goWork(func() {
		select {
		case <-p.Done():
		case <-g.ctx.Done():
		}
		g.dropPeer(p)
	})
	g.push(p, g.Heads())
}

func (g *Group) addPeer(p *wire.Peer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.peers[p] = true
}

func (g *Group) dropPeer(p *wire.Peer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.peers, p)
}

func (g *Group) push(p *wire.Peer, h linkmsg.Heads) {
	if b, err := linkmsg.Encode("who leads", &h); err == nil {
		_ = p.Push(linkmsg.THeads, b) // a session that has failed is noticed by its end
	}
}

// tell has everybody told who leads.
func (g *Group) tell() {
	select {
	case g.told <- struct{}{}:
	default:
	}
}

// announce tells everybody who leads at each change.
func (g *Group) announce() {
	for {
		changed := g.state.LeaderChanged()
		_, moved := g.o.Book.List()
		if id := g.state.Leader(); id != "" {
			g.led.Store(&id)
		}
		h := g.Heads()
		for _, p := range g.all() {
			g.push(p, h)
		}
		select {
		case <-changed:
		case <-moved:
		case <-g.told:
		case <-g.ctx.Done():
			return
		}
	}
}

func (g *Group) all() (list []*wire.Peer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.peers {
		list = append(list, p)
	}
	return list
}

// awaitWhole waits until the state shows all that was committed before this head began. Until then it is that of the last snapshot, which may be
// much older than the book: heads have joined and moved since.
func (g *Group) awaitWhole() {
	for g.state.Fresh(g.ctx) != nil {
		select {
		case <-time.After(lookEvery): // this head has failed, or ends
		case <-g.ctx.Done():
			return
		}
	}
	g.whole.Store(true)
	g.read()
}

// follow keeps the book as the settings of the state are, once the state is whole, and keeps sessions with the other heads.
func (g *Group) follow() {
	for {
		from := g.state.Now()
		g.read()
		for {
			batch, err := g.state.Watch(g.ctx, from)
			if errors.Is(err, record.ErrCompacted) {
				break
			}
			if err != nil {
				return
			}
			for _, e := range batch.Events {
				if (e.Kind == record.SettingPutEvent || e.Kind == record.SettingDelEvent) && IsSetting(e.Key) {
					g.read()
				}
			}
			from = batch.Next
		}
	}
}

func (g *Group) read() {
	g.setBook()
	list, _ := g.o.Book.List()
	for _, h := range list {
		if h.Number != g.o.Number {
			_, _ = g.o.Control(h.Number) // from now on it is dialed whenever there is no connection
		}
	}
}

func (g *Group) setBook() {
	g.reading.Lock()
	defer g.reading.Unlock()
	whole := g.whole.Load()
	entries := Entries(g.state)
	g.level.Store(0) // it may have changed
	for _, e := range entries {
		if e.ID == g.o.ID && e.Removed { // this is final, so it counts in an older state, too
			g.beginRemoval()
		}
	}
	if whole {
		g.o.Book.Set(entries)
	}
}
