package headprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/raftlog"
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

// The settings of the cluster's state in which a head keeps who the cluster is.
const (
	clusterSetting   = "cluster"
	authoritySetting = "authority" // sealed with the token
)

// ownCluster returns this head's identity, and the authority that signs for the cluster, nil without TLS. They are kept in
// the cluster's state; a head whose state has none begins a new cluster.
func ownCluster(ctx context.Context, state *raftstate.Node, token pki.Token, insecure bool) (self pki.Identity, a *pki.Authority, err error) {
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
	if insecure {
		return self, nil, nil
	}
	if sealed, known := state.Setting(authoritySetting); known {
		if a, err = pki.OpenAuthority(sealed, token); err != nil {
			return self, nil, process.NewBadConfig(fmt.Errorf("the authority of the cluster that is kept here: %w. Start the head with the token that this cluster has", err))
		}
		return self, a, nil
	}
	if a, err = pki.NewAuthority(self.Cluster, time.Now()); err == nil {
		err = state.PutSetting(ctx, authoritySetting, a.Seal(token))
	}
	return self, a, err
}
