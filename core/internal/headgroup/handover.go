package headgroup

import (
	"context"
	"sync"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// HandOver has another head lead, for a head that ends. It returns when the other heads that are connected follow the new leader. A head that did not know of it would
// take this one for dead when its connections end (suspect.go), and stand for election against the new leader.
func (g *Group) HandOver(ctx context.Context) error {
	if g.state.Voters() < 2 || g.state.Leader() != g.state.Self() {
		return nil
	}
	reign, err := g.state.Lead(ctx)
	if err != nil {
		return err
	}
	if err := reign.TransferTo(ctx, ""); err != nil {
		return err
	}
	for {
		said := g.said.changed()
		if g.othersFollow(reign.Term()) {
			return nil
		}
		select {
		case <-said:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// othersFollow reports whether all other heads that are connected have said that a leader of a later term leads.
func (g *Group) othersFollow(term uint64) bool {
	list, _ := g.o.Book.List()
	for _, h := range list {
		if h.Number == g.o.Number {
			continue
		}
		if _, err := g.o.Control(h.Number); err != nil {
			continue
		}
		if s := g.said.last(h.Number); !s.Leads || s.Leader == g.o.Number || s.Term <= term {
			return false
		}
	}
	return true
}

// said has what each of the other heads has said last.
type said struct {
	mu    sync.Mutex
	heads map[uint32]linkmsg.Heads
	next  chan struct{} // closed at the next change
}

func (s *said) note(from uint32, h linkmsg.Heads) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heads == nil {
		s.heads = map[uint32]linkmsg.Heads{}
	}
	s.heads[from] = h
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

func (s *said) last(number uint32) linkmsg.Heads {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads[number]
}

// changed returns a channel that is closed when a head says something from now on.
func (s *said) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}
