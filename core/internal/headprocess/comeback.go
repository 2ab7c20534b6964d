package headprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
)

// A head that was off has keys of an earlier time in its folder. The token, the authority and the list of those who were revoked may have changed meanwhile, and it hears of
// that from the replicated state only when the others let it in. So it asks them for the present keys first, as a process that joins does: both sides prove the token that
// this head was started with. Whoever has the folder only gets nothing for it.

// How long a head asks for the keys before it begins.
const (
	askKeysLimit  = time.Second     // when it can open those in its folder
	needKeysLimit = 5 * time.Second // when it cannot
	needKeysPause = 300 * time.Millisecond
)

// presentKeys brings the keys in the file of a head that comes back up to date, and reports whether they are newer than those that were there. It fails if the head
// cannot begin with what it has.
func (c *Config) presentKeys(ctx context.Context, id *identity, here linkmsg.HeadAt, token pki.Token, release string, log *slog.Logger) (ahead bool, err error) {
	here.Number = id.self.Number
	asks := &join.Client{Heads: elsewhere(c.Join, id.file.Heads, here.Number), Token: token, Release: release}
	if c.Insecure || id.first || id.joined || len(id.file.Keys) == 0 || len(asks.Heads) == 0 {
		return false, nil
	}
	have, unreadable := pki.OpenKeyring(id.file.Keys, token)
	limit := askKeysLimit
	if unreadable != nil {
		limit = needKeysLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		found, err := asks.Keys(ctx, id.self.Cluster, here)
		if best, version := newest(found, id.self.Cluster, token, log); best != nil && (have == nil || version > have.Version) {
			id.file.Keys, id.file.Heads = best.Sealed, best.Heads.All
			id.isAt(here)
			log.Info("the keys of the cluster have changed while this head was away; it has the present ones from another head", "from", best.From, "version", version)
			return true, nil
		}
		removed := len(found) > 0 && !slices.ContainsFunc(found, func(k join.Keys) bool { return !k.Removed })
		switch {
		case removed:
			return false, fmt.Errorf("the head at %s knows no head %d: %w", found[0].From, here.Number, process.ErrRemoved)
		case unreadable == nil:
			if err != nil {
				log.Info("no other head has said yet which keys the cluster has; this head begins with those in its folder", "why", err)
			}
			return false, nil
		case ctx.Err() != nil:
			return false, process.NewBadConfig(fmt.Errorf("the keys in the folder of this head are not those of the %v, and no other head has given it newer ones (%w). If the token was replaced while this head was away, start it with the new token while other heads run: then it goes on with its folder", token, errors.Join(unreadable, err)))
		}
		select {
		case <-time.After(needKeysPause):
		case <-ctx.Done():
		}
	}
}

// newest returns the answer with the newest keys that can be opened and are those of the cluster; nil if there is none.
func newest(found []join.Keys, cluster pki.Cluster, token pki.Token, log *slog.Logger) (best *join.Keys, version uint64) {
	for i := range found {
		if found[i].Removed {
			continue
		}
		ring, err := pki.OpenKeyring(found[i].Sealed, token)
		if err == nil && ring.Cluster != cluster {
			err = fmt.Errorf("they are those of cluster %s, and this is %s", ring.Cluster, cluster)
		}
		if err != nil {
			log.Warn("another head gives keys that cannot be used", "from", found[i].From, "why", err)
			continue
		}
		if best == nil || ring.Version > version {
			best, version = &found[i], ring.Version
		}
	}
	return best, version
}

// elsewhere returns where other heads may be: at the addresses that a head was started with, and where it has seen them.
func elsewhere(given []string, heads []linkmsg.HeadAt, self uint32) []string {
	list := slices.Clone(given)
	for _, h := range heads {
		for _, a := range h.Addresses {
			if h.Number != self && !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}
