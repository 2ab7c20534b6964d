package headprocess

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/eagleray/eagleray/core/internal/alive"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/raftstate"
)

// TimeoutSetting is the setting of a cluster with the silence after which a node is dead. In the state it is a number of milliseconds.
const TimeoutSetting = "node_timeout"

// CheckTimeout returns why a cluster cannot have that node_timeout, in seconds.
func CheckTimeout(seconds float64) error {
	if _, err := alive.NewTiming(duration(seconds)); err != nil {
		return fmt.Errorf("%s is %v seconds, and %w", TimeoutSetting, seconds, alive.ErrTimeout) // as it was given
	}
	return nil
}

// duration bounds the seconds, which may be too many for a duration, or no number.
func duration(seconds float64) time.Duration {
	if !(seconds >= 0 && seconds < 3600) {
		return time.Hour
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// formerFence is for how long after the beginning of this head nodes may still believe what a head before it has promised.
func formerFence(state *raftstate.Node) time.Duration {
	dead := alive.DefaultDead
	if b, known := state.Setting(TimeoutSetting); known {
		ms, _ := strconv.ParseInt(string(b), 10, 64)
		dead = duration(float64(ms) / 1000)
	} else if len(state.ListNodes()) == 0 {
		return 0 // a new cluster
	}
	t, _ := alive.NewTiming(dead)
	return t.Fence
}

// timing returns the times of the cluster. A node_timeout that is given is noted in the state; without one the state's holds.
func (c *Config) timing(ctx context.Context, state *raftstate.Node) (t alive.Timing, err error) {
	dead := alive.DefaultDead
	switch b, known := state.Setting(TimeoutSetting); {
	case c.NodeTimeout != 0:
		dead = duration(c.NodeTimeout)
	case known:
		ms, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil {
			return t, fmt.Errorf("the setting %s of the cluster's state: %w", TimeoutSetting, err)
		}
		dead = duration(float64(ms) / 1000)
	}
	if t, err = alive.NewTiming(dead); err != nil {
		return t, process.NewBadConfig(err)
	}
	if c.NodeTimeout == 0 {
		return t, nil
	}
	t.Fence = max(t.Fence, formerFence(state))
	if err := state.PutSetting(ctx, TimeoutSetting, strconv.AppendInt(nil, dead.Milliseconds(), 10)); err != nil {
		return t, fmt.Errorf("note the %s of the cluster: %w", TimeoutSetting, err)
	}
	return t, nil
}
