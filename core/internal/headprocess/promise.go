package headprocess

import (
	"context"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/alive"
	"github.com/eagleray/eagleray/raftstate"
)

// notePromise notes what this head is going to promise to nodes while it leads. What heads before it have promised is noted already.
func notePromise(ctx context.Context, reign *raftstate.Reign, t alive.Timing) error {
	promised, known, err := timeoutIn(reign.Member(), promisedSetting)
	if err != nil || known && promised >= t.Dead {
		return err
	}
	return putTimeout(ctx, reign, promisedSetting, t.Dead)
}

// settlePromises waits until no node believes any more what heads have promised before this one led, and forgets that. The next head that leads need not wait for it.
func settlePromises(ctx context.Context, reign *raftstate.Reign, t alive.Timing) error {
	over := time.NewTimer(t.Fence)
	defer over.Stop()
	select {
	case <-over.C:
		return forgetPromises(ctx, reign, t)
	case <-reign.Ended():
	case <-ctx.Done():
	}
	return nil
}

// forgetPromises leaves in the state what this head has promised itself.
func forgetPromises(ctx context.Context, reign *raftstate.Reign, t alive.Timing) error {
	promised, _, err := timeoutIn(reign.Member(), promisedSetting)
	if err != nil {
		return err
	}
	if promised != t.Dead {
		if err := putTimeout(ctx, reign, promisedSetting, t.Dead); err != nil {
			return err
		}
	}
	if _, known := reign.Setting(formerSetting); !known {
		return nil
	}
	if err := reign.DelSetting(ctx, formerSetting); err != nil {
		return fmt.Errorf("forget the setting %s of the cluster: %w", formerSetting, err)
	}
	return nil
}
