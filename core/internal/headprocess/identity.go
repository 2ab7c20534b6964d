package headprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/raftlog"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/raftstate"
)

// identity is who a head is, known before its state is read.
type identity struct {
	self    pki.Identity
	file    *headgroup.File
	first   bool // it begins a new cluster
	joined  bool // it has joined just now, so its keys are the present ones
	warning string
}

// identify finds out who this head is: what its folder says, else a further head of the cluster that Config.Join names, else the first head of a
// new cluster.
func (c *Config) identify(ctx context.Context, folder string, stored *raftlog.Dir, at linkmsg.HeadAt, token pki.Token, release string, log *slog.Logger) (id *identity, err error) {
	f, err := headgroup.ReadFile(folder)
	if err == nil && f.Removed {
		return nil, process.ErrRemoved
	}
	if err == nil {
		self, err := f.Self()
		id := &identity{self: self, file: f}
		id.isAt(at)
		return id, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	worked, err := raftstate.HasState(stored.Stores())
	switch {
	case err != nil:
		return nil, fmt.Errorf("cluster state: %w", err)
	case worked:
		id, err = c.fromState(ctx, stored, token, log)
	case len(c.Join) > 0:
		id, err = c.joinHeads(ctx, at, token, release)
	default:
		id = begin()
	}
	if err != nil {
		return nil, err
	}
	if id.file == nil {
		id.file = &headgroup.File{}
	}
	id.file.Identity = id.self.String()
	id.isAt(at)
	if id.warning != "" {
		log.Warn(id.warning)
	}
	return id, nil
}

// isAt notes where this head is now. It may have been elsewhere before.
func (id *identity) isAt(at linkmsg.HeadAt) {
	at.Number = id.self.Number
	known := false
	for i := range id.file.Heads {
		if id.file.Heads[i].ID == at.ID {
			id.file.Heads[i], known = at, true
		}
	}
	if !known {
		id.file.Heads = append(id.file.Heads, at)
	}
}

// begin is the first head of a new cluster.
func begin() *identity {
	return &identity{self: pki.Identity{Cluster: pki.NewCluster(), Generation: generation, Role: pki.RoleHead, Number: process.HeadNumber}, first: true}
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
	return &identity{self: m.Identity, joined: true, file: &headgroup.File{Heads: m.Heads.All, Keys: m.Sealed}, warning: m.Warning}, nil
}

// fromState is the only head of a cluster whose folder is of a release before there were further heads: its state says who it is.
func (c *Config) fromState(ctx context.Context, stored *raftlog.Dir, token pki.Token, log *slog.Logger) (*identity, error) {
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
		id = begin()
	case len(b) != len(id.self.Cluster):
		err = fmt.Errorf("the name of the cluster in its state has %d bytes, must have %d", len(b), len(id.self.Cluster))
	default:
		copy(id.self.Cluster[:], b)
		id.file = &headgroup.File{}
		if id.file.Keys, known = state.Setting(trust.Setting); !known {
			id.file.Keys, err = c.formerKeys(ctx, state, id.self.Cluster, token, log)
		}
	}
	if e := state.Close(); err == nil && e != nil {
		err = fmt.Errorf("cluster state: %w", e)
	}
	id.first = false // Raft knows its members already
	return id, err
}

// formerKeys makes a keyring of what a release before there were keyrings has kept in the state.
func (c *Config) formerKeys(ctx context.Context, state trust.State, cluster pki.Cluster, token pki.Token, log *slog.Logger) ([]byte, error) {
	keys, err := c.openKeys(ctx, state, cluster, token, nil, nil, log)
	if err != nil {
		return nil, err
	}
	return keys.Sealed()
}

// openKeys opens the keys of the cluster, or makes those of a new one.
func (c *Config) openKeys(ctx context.Context, state trust.State, cluster pki.Cluster, token pki.Token, group **headgroup.Group, book **headgroup.Book, log *slog.Logger) (*trust.Keeper, error) {
	o := trust.Options{State: state, Cluster: cluster, Token: token, Insecure: c.Insecure, Own: c.Token.Read, Log: log}
	if s, ok := state.(*keyState); ok {
		o.Reign = s.reign
	}
	if group != nil { // they are there when the head runs
		o.Waits = func(version uint64) ([]uint32, bool) { return (*group).KeysWait(version) }
		o.IsHead = func(number uint32) bool { return (*book).Has(number) }
	}
	keys, err := trust.Open(ctx, o)
	if errors.Is(err, trust.ErrOtherToken) {
		err = process.NewBadConfig(fmt.Errorf("%w. Start the head with the token that this cluster has", err))
	}
	return keys, err
}

// noteCluster puts into the state who the cluster is, if it is not there, and compares.
func (id *identity) noteCluster(ctx context.Context, state *raftstate.Node) error {
	if b, known := state.Setting(clusterSetting); !known {
		if err := state.PutSetting(ctx, clusterSetting, id.self.Cluster[:]); err != nil {
			return fmt.Errorf("note the name of the cluster: %w", err)
		}
	} else if string(b) != string(id.self.Cluster[:]) {
		return fmt.Errorf("the folder of this head is of cluster %s, and the state in it of another one (%x): it was put together from two", id.self.Cluster, b)
	}
	if _, known := state.Setting(trust.Setting); known {
		return nil
	}
	if err := state.PutSetting(ctx, trust.Setting, id.file.Keys); err != nil {
		return fmt.Errorf("note the keys of the cluster: %w", err)
	}
	return nil
}
