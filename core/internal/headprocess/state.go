package headprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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

// clusterSetting is the setting of the cluster's state with the cluster's name. Its keys are beside it: trust.Setting.
const clusterSetting = "cluster"
