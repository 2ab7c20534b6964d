package headprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/raftlog"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// awaitState waits until this process leads and its state has all that was committed before.
func awaitState(ctx context.Context, state *raftstate.Node) error {
	for from := state.Now(); ; {
		batch, err := state.Watch(ctx, from)
		switch {
		case errors.Is(err, record.ErrCompacted): // so much was read back
			from.Seq = state.Now().Seq
			continue
		case state.Err() != nil: // then the watch ends without a reason
			return state.Err()
		case err != nil:
			return fmt.Errorf("wait until it is read back: %w", err)
		case batch.Leading:
			return nil
		}
		from = batch.Next
	}
}

func closeState(n *raftstate.Node, log *slog.Logger) {
	if err := n.Close(); err != nil {
		log.Warn("closing the cluster state", "error", err)
	}
}

func closeStored(d *raftlog.Dir, log *slog.Logger) {
	if err := d.Close(); err != nil {
		log.Warn("closing the folder of the cluster state", "error", err)
	}
}

// clusterSetting is the setting of the cluster's state in which a head keeps the cluster's name. Its keys are beside it: trust.Setting.
const clusterSetting = "cluster"

// ownCluster returns this head's identity, and the keys of the cluster. They are kept in the cluster's state; a head whose state has
// none begins a new cluster.
func ownCluster(ctx context.Context, state *raftstate.Node, token pki.Token, c *Config, log *slog.Logger) (self pki.Identity, keys *trust.Keeper, err error) {
	self = pki.Identity{Generation: generation, Role: pki.RoleHead, Number: process.HeadNumber}
	if b, known := state.Setting(clusterSetting); !known {
		self.Cluster = pki.NewCluster()
		err = state.PutSetting(ctx, clusterSetting, self.Cluster[:])
	} else if len(b) != len(self.Cluster) {
		err = fmt.Errorf("%d bytes, must be %d", len(b), len(self.Cluster))
	} else {
		copy(self.Cluster[:], b)
	}
	if err != nil {
		return self, nil, fmt.Errorf("the name of the cluster: %w", err)
	}
	keys, err = trust.Open(ctx, trust.Options{State: state, Cluster: self.Cluster, Token: token, Insecure: c.Insecure, Own: c.Token.Read, Log: log})
	if errors.Is(err, trust.ErrOtherToken) {
		err = process.NewBadConfig(fmt.Errorf("%w. Start the head with the token that this cluster has", err))
	}
	return self, keys, err
}

// followKeys follows the keys in the state, which other heads may change, until the context ends.
func followKeys(ctx context.Context, state *raftstate.Node, keys *trust.Keeper) error {
	for from := state.Now(); ; {
		keys.Changed()
		for {
			batch, err := state.Watch(ctx, from)
			if errors.Is(err, record.ErrCompacted) {
				from = state.Now()
				break
			}
			if err != nil {
				return err
			}
			changed := slices.ContainsFunc(batch.Events, func(e record.Event) bool { return e.Kind == record.SettingPutEvent && e.Key == trust.Setting })
			if from = batch.Next; changed {
				break
			}
		}
	}
}
