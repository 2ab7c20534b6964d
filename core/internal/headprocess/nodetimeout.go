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

// formerSetting is the node_timeout that the cluster had before the present one was given. Nodes may still believe what a head has promised then.
const formerSetting = "node_timeout_before"

// noteTimeout notes in the state the node_timeout that is given, and the one before.
func (c *Config) noteTimeout(ctx context.Context, state *raftstate.Node) error {
	if c.NodeTimeout == 0 {
		return nil
	}
	t, err := alive.NewTiming(duration(c.NodeTimeout))
	if err != nil {
		return process.NewBadConfig(err)
	}
	before, known, err := timeoutIn(state, TimeoutSetting)
	switch {
	case err != nil:
		return err
	case known:
	case len(state.ListNodes()) == 0: // a new cluster
		before = t.Dead
	default:
		before = alive.DefaultDead
	}
	for _, x := range []struct {
		name string
		time time.Duration
	}{{formerSetting, before}, {TimeoutSetting, t.Dead}} {
		if err := state.PutSetting(ctx, x.name, strconv.AppendInt(nil, x.time.Milliseconds(), 10)); err != nil {
			return fmt.Errorf("note the %s of the cluster: %w", TimeoutSetting, err)
		}
	}
	return nil
}

// timeoutIn reads a time from the state.
func timeoutIn(state *raftstate.Node, name string) (t time.Duration, known bool, err error) {
	b, known := state.Setting(name)
	if !known {
		return 0, false, nil
	}
	ms, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, true, fmt.Errorf("the setting %s of the cluster's state: %w", name, err)
	}
	return duration(float64(ms) / 1000), true, nil
}

// timingOf returns the times of the cluster, as the state has them.
func timingOf(state *raftstate.Node) (t alive.Timing, err error) {
	dead, known, err := timeoutIn(state, TimeoutSetting)
	if err != nil {
		return t, err
	}
	if !known {
		dead = alive.DefaultDead
	}
	if t, err = alive.NewTiming(dead); err != nil {
		return t, err
	}
	former, known, err := timeoutIn(state, formerSetting)
	if err != nil || !known {
		return t, err
	}
	f, err := alive.NewTiming(former)
	t.Fence = max(t.Fence, f.Fence)
	return t, err
}
