package headprocess

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/alive"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// sessionSetting is the setting of the cluster's state with the session of the head that keeps it.
const sessionSetting = "session"

// returnLimit is how long a head waits for the nodes of a former run. They dial every two seconds at least.
const returnLimit = alive.DefaultDead

// formerRun is what the cluster's state has of a run that another `start --head` has begun. Nodes of that run may come back. The
// others are declared dead, because the heads have no other sign of their death.
type formerRun struct {
	state   *raftstate.Node
	session string // of this head
	log     *slog.Logger
}

// findFormer returns the former run whose nodes have not been judged, nil if there is none. The state of a new cluster has none, and
// neither has that of a head which is started again in its session.
func findFormer(ctx context.Context, state *raftstate.Node, session string, log *slog.Logger) (*formerRun, error) {
	f := &formerRun{state, session, log}
	b, known := state.Setting(sessionSetting)
	switch {
	case !known:
		return nil, f.over(ctx)
	case string(b) == session:
		return nil, nil
	}
	log.Info("going on with the state of a former run", "its session", string(b))
	return f, f.endOwnNode(ctx)
}

// endOwnNode declares the node of the former head dead. One warden had both, and that head has left the state to this one.
func (f *formerRun) endOwnNode(ctx context.Context) error {
	for _, n := range f.state.ListNodes() {
		if n.IsHead && n.State != record.NodeDead && n.SessionDir != f.session {
			if err := f.end(ctx, &n, "its session has ended, and a new one goes on with the cluster"); err != nil {
				return err
			}
		}
	}
	return nil
}

// await gives the other nodes the time to come back, and declares those dead that do not. back reports whether a node has come.
func (f *formerRun) await(ctx context.Context, back func(number uint32, id ids.Node) bool) error {
	timer := time.NewTimer(returnLimit)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, n := range f.state.ListNodes() {
		if n.State != record.NodeDead && !back(n.Number, n.ID) {
			why := fmt.Sprintf("it did not come back within %v after the head was started again", returnLimit)
			if err := f.end(ctx, &n, why); err != nil {
				return err
			}
		}
	}
	return f.over(ctx)
}

func (f *formerRun) end(ctx context.Context, n *record.Node, why string) error {
	f.log.Info("a node of the former run is dead", "node", n.Number, "name", n.Name, "why", why)
	if err := f.state.NodeDead(ctx, n.ID, why, time.Now().UnixMilli()); err != nil {
		return fmt.Errorf("declare node %d of the former run dead: %w", n.Number, err)
	}
	return nil
}

// over notes that this session has the state now. Until then a head that is started again in it judges the nodes anew.
func (f *formerRun) over(ctx context.Context) error {
	if err := f.state.PutSetting(ctx, sessionSetting, []byte(f.session)); err != nil {
		return fmt.Errorf("note the session of the cluster: %w", err)
	}
	return nil
}
