package headprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/raftlog"
	"github.com/eagleray/eagleray/raftstate"
)

// identity is who a head is, known before its state is read.
type identity struct {
	self      pki.Identity
	authority *pki.Authority // nil without TLS
	file      *headgroup.File
	first     bool // it begins a new cluster
	warning   string
}

// identify finds out who this head is: what its folder says, else a further head of the cluster that Config.Join names, else the first head of a
// new cluster.
func (c *Config) identify(ctx context.Context, folder string, stored *raftlog.Dir, at linkmsg.HeadAt, token pki.Token, release string, log *slog.Logger) (id *identity, err error) {
	f, err := headgroup.ReadFile(folder)
	if err == nil && f.Removed {
		return nil, process.ErrRemoved
	}
	if err == nil {
		return c.again(f, token)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	worked, err := raftstate.HasState(stored.Stores())
	switch {
	case err != nil:
		return nil, fmt.Errorf("cluster state: %w", err)
	case worked:
		id, err = c.fromState(ctx, stored, token)
	case len(c.Join) > 0:
		id, err = c.joinHeads(ctx, at, token, release)
	default:
		id, err = c.begin()
	}
	if err != nil {
		return nil, err
	}
	at.Number = id.self.Number
	if id.file == nil {
		id.file = &headgroup.File{}
	}
	id.file.Identity = id.self.String()
	known := false
	for i := range id.file.Heads {
		if id.file.Heads[i].ID == at.ID {
			id.file.Heads[i], known = at, true
		}
	}
	if !known {
		id.file.Heads = append(id.file.Heads, at)
	}
	if id.authority != nil {
		id.file.Authority = id.authority.Seal(token)
	}
	if id.warning != "" {
		log.Warn(id.warning)
	}
	return id, id.file.Write(folder)
}

// again is who the folder says.
func (c *Config) again(f *headgroup.File, token pki.Token) (*identity, error) {
	self, err := f.Self()
	if err != nil {
		return nil, err
	}
	id := &identity{self: self, file: f}
	switch {
	case c.Insecure:
	case f.Authority == nil && len(f.Heads) > 1:
		return nil, process.NewBadConfig(errors.New("the cluster that is kept here has other heads, and works with --insecure: start this head with --insecure, too"))
	case f.Authority == nil: // it was --insecure before, and is the only head
		if id.authority, err = pki.NewAuthority(self.Cluster, time.Now()); err == nil {
			f.Authority = id.authority.Seal(token)
		}
	default:
		if id.authority, err = pki.OpenAuthority(f.Authority, token); err != nil {
			err = wrongToken(err)
		}
	}
	return id, err
}

func wrongToken(err error) error {
	return process.NewBadConfig(fmt.Errorf("the authority of the cluster that is kept here: %w. Start the head with the token that this cluster has", err))
}

// begin is the first head of a new cluster.
func (c *Config) begin() (*identity, error) {
	id := &identity{self: pki.Identity{Cluster: pki.NewCluster(), Generation: generation, Role: pki.RoleHead, Number: process.HeadNumber}, first: true}
	if c.Insecure {
		return id, nil
	}
	var err error
	id.authority, err = pki.NewAuthority(id.self.Cluster, time.Now())
	return id, err
}

// joinHeads is a further head.
func (c *Config) joinHeads(ctx context.Context, at linkmsg.HeadAt, token pki.Token, release string) (*identity, error) {
	asks := &join.Client{Heads: c.Join, Token: token, Insecure: c.Insecure, Release: release}
	m, err := asks.JoinHead(ctx, at)
	if err != nil {
		if errors.Is(err, pki.ErrWrongToken) {
			return nil, process.NewBadConfig(fmt.Errorf("join the cluster with the %v: %w", token, err))
		}
		return nil, fmt.Errorf("join the cluster as a further head: %w", err)
	}
	id := &identity{self: m.Identity, file: &headgroup.File{Heads: m.Heads.All}, warning: m.Warning}
	if c.Insecure {
		return id, nil
	}
	id.authority, err = pki.OpenAuthority(m.Sealed, token)
	return id, err
}

// fromState is the only head of a cluster whose folder is of a release before there were further heads: its state says who it is.
func (c *Config) fromState(ctx context.Context, stored *raftlog.Dir, token pki.Token) (*identity, error) {
	state, err := raftstate.Open(raftstate.Options{ID: stored.ID(), Stores: stored.Stores()})
	if err != nil {
		return nil, fmt.Errorf("cluster state: %w", err)
	}
	err = awaitState(ctx, state)
	id := &identity{self: pki.Identity{Generation: generation, Role: pki.RoleHead, Number: process.HeadNumber}}
	b, known := state.Setting(clusterSetting)
	switch {
	case err != nil:
	case !known: // it ended before it had noted who it is, so nobody has joined it
		id, err = c.begin()
	case len(b) != len(id.self.Cluster):
		err = fmt.Errorf("the name of the cluster in its state has %d bytes, must have %d", len(b), len(id.self.Cluster))
	default:
		copy(id.self.Cluster[:], b)
		sealed, some := state.Setting(authoritySetting)
		switch {
		case c.Insecure:
		case !some:
			id.authority, err = pki.NewAuthority(id.self.Cluster, time.Now())
		default:
			if id.authority, err = pki.OpenAuthority(sealed, token); err != nil {
				err = wrongToken(err)
			}
		}
	}
	if e := state.Close(); err == nil && e != nil {
		err = fmt.Errorf("cluster state: %w", e)
	}
	if id != nil {
		id.first = false // Raft knows its members already
	}
	return id, err
}

// noteCluster puts into the state who the cluster is, if it is not there, and compares.
func (id *identity) noteCluster(ctx context.Context, state *raftstate.Node, token pki.Token) error {
	if b, known := state.Setting(clusterSetting); !known {
		if err := state.PutSetting(ctx, clusterSetting, id.self.Cluster[:]); err != nil {
			return fmt.Errorf("note the name of the cluster: %w", err)
		}
	} else if string(b) != string(id.self.Cluster[:]) {
		return fmt.Errorf("the folder of this head is of cluster %s, and the state in it of another one (%x): it was put together from two", id.self.Cluster, b)
	}
	if id.authority == nil {
		return nil
	}
	if _, known := state.Setting(authoritySetting); known {
		return nil
	}
	if err := state.PutSetting(ctx, authoritySetting, id.authority.Seal(token)); err != nil {
		return fmt.Errorf("note the authority of the cluster: %w", err)
	}
	return nil
}
