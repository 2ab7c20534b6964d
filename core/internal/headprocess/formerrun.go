package headprocess

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// sessionSetting begins the name of the setting of the cluster's state with the session of a head. That of the first head ends here.
const sessionSetting = "session"

// sessionOf returns the name of the setting for the head with that number.
func sessionOf(number uint32) string {
	if number == process.HeadNumber {
		return sessionSetting
	}
	return fmt.Sprintf("%s/%d", sessionSetting, number)
}

// endFormer takes over the state of another `start --head`, and reports whether there was one. It declares the node of the former
// head dead: one warden had both, and that head has left the state to this one. The other nodes of that run may come back; those that do not
// are judged as all nodes are. A head that is started again in its own session takes over nothing.
func endFormer(ctx context.Context, state *raftstate.Node, number uint32, session string, log *slog.Logger) (former bool, err error) {
	b, known := state.Setting(sessionOf(number))
	if known && string(b) == session {
		return false, nil
	}
	if known {
		log.Info("going on with the state of a former run", "its session", string(b))
		if err := endFormerHead(ctx, state, string(b), log); err != nil {
			return true, err
		}
	}
	if err := state.PutSetting(ctx, sessionOf(number), []byte(session)); err != nil {
		return known, fmt.Errorf("note the session of the cluster: %w", err)
	}
	return known, nil
}

// endFormerHead declares the nodes dead that stood beside the head in a session that has ended.
func endFormerHead(ctx context.Context, state *raftstate.Node, session string, log *slog.Logger) error {
	for _, n := range state.ListNodes() {
		if !n.IsHead || n.State == record.NodeDead || n.SessionDir != session {
			continue
		}
		log.Info("the node of the former head is dead", "node", n.Number, "name", n.Name)
		why := "its session has ended, and a new one goes on with the cluster"
		if err := state.NodeDead(ctx, n.ID, why, time.Now().UnixMilli()); err != nil {
			return fmt.Errorf("declare node %d of the former run dead: %w", n.Number, err)
		}
	}
	return nil
}
