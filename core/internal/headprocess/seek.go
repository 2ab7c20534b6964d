package headprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/raftstate"
)

// lookForHeads is how long no head may lead before a head looks for the others at other addresses.
const lookForHeads = 3 * time.Second

// seeker looks for the other heads while none leads, as far as this head knows. It asks where they are, at the addresses that this head was started with, whose names may
// lead elsewhere by now: so heads that have all moved at the same time find each other. And it asks for the keys of the cluster: the others may have replaced the
// authority while this head was cut off from them, and let it in no more.
type seeker struct {
	c       *Config
	cluster pki.Cluster
	self    linkmsg.HeadAt
	state   *raftstate.Node
	group   *headgroup.Group
	book    *headgroup.Book
	keys    *trust.Keeper
	release string
	log     *slog.Logger

	// giveUp ends the wait for the others of a head that begins. It is called when none leads and another head does not know the token.
	giveUp func(error)
}

// run looks for the other heads until the context ends.
func (s *seeker) run(ctx context.Context) {
	tick := time.NewTicker(lookForHeads)
	defer tick.Stop()
	for without := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if s.state.Leader() != "" {
			without = 0
			continue
		}
		if without++; without < 2 {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, 2*lookForHeads)
		s.seek(asking)
		s.askKeys(asking)
		cancel()
	}
}

// seek asks where the others are. Heads that do not answer are asked again.
func (s *seeker) seek(ctx context.Context) {
	if len(s.c.Join) == 0 {
		return
	}
	asks := join.Client{Heads: slices.Clone(s.c.Join), Token: s.token(), Insecure: s.c.Insecure, Release: s.release}
	_ = asks.Where(ctx, func(h linkmsg.Heads) {
		for _, at := range h.All {
			if at.Number == h.From && at.Number != s.self.Number {
				s.book.Moved(at.Number, at.Addresses)
			}
		}
	})
}

// token returns the one that this head's machine has now. It may have been replaced since the head was started.
func (s *seeker) token() pki.Token {
	if t, err := s.c.Token.Read(); err == nil {
		return t
	}
	return s.keys.Tokens()[0]
}

// askKeys asks the others for the keys of the cluster, and hears so that they have removed this head, if it has missed that.
func (s *seeker) askKeys(ctx context.Context) {
	known, _ := s.book.List()
	addresses := elsewhere(s.c.Join, known, s.self.Number)
	if len(addresses) == 0 {
		return
	}
	asks := join.Client{Heads: addresses, Token: s.token(), Insecure: s.c.Insecure, Release: s.release}
	found, err := asks.Keys(ctx, s.cluster, s.self)
	if errors.Is(err, pki.ErrWrongToken) {
		s.giveUp(fmt.Errorf("no head leads that this one can reach, and another one does not know the %v. If the token was replaced while this head was away, put the new one in its place, and start the head again with its folder (%w)", asks.Token, err))
	}
	for _, answer := range found {
		if answer.Removed {
			s.group.Forgotten()
			continue
		}
		if s.c.Insecure { // there are no keys to be replaced
			continue
		}
		taken, err := s.keys.Offered(answer.Sealed, asks.Token)
		if err != nil {
			s.log.Warn("another head gives keys that cannot be used", "from", answer.From, "why", err)
		}
		if taken {
			s.log.Info("the keys of the cluster were replaced without this head; it has them from another one now", "from", answer.From)
			s.book.SetKeys(answer.Sealed)
		}
	}
}
