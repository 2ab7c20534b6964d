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

// The head that leads promises to nodes with the node_timeout that it has read when it began to lead, and nodes believe that for so long. The next head that leads must not
// restart an exclusive actor earlier, so the state has what may still be believed besides TimeoutSetting. promise.go says when that ends.
const (
	formerSetting   = "node_timeout_before"   // the longest one that the cluster had before the present one
	promisedSetting = "node_timeout_promised" // the longest one with which a head has led. Only the head that leads writes it
)

// noteTimeout notes in the state the node_timeout that is given, and the longest one before if that is longer.
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
	case known && before == t.Dead: // as when the other heads are started with it, too
		return nil
	case known:
	case len(state.ListNodes()) == 0: // a new cluster
		before = t.Dead
	default:
		before = alive.DefaultDead
	}
	former, _, err := timeoutIn(state, formerSetting)
	if err != nil {
		return err
	}
	if before > max(former, t.Dead) {
		if err := putTimeout(ctx, state, formerSetting, before); err != nil {
			return err
		}
	}
	return putTimeout(ctx, state, TimeoutSetting, t.Dead)
}

// putTimeout writes a time into the state.
func putTimeout(ctx context.Context, state interface {
	PutSetting(ctx context.Context, name string, value []byte) error
}, name string, t time.Duration) error {
	if err := state.PutSetting(ctx, name, strconv.AppendInt(nil, t.Milliseconds(), 10)); err != nil {
		return fmt.Errorf("note the setting %s of the cluster: %w", name, err)
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

// timingOf returns the times of the cluster, as the state has them. The fence is that of the longest node_timeout that a node may still believe.
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
	for _, name := range []string{formerSetting, promisedSetting} {
		believed, known, err := timeoutIn(state, name)
		if err != nil {
			return t, err
		}
		if !known {
			continue
		}
		b, err := alive.NewTiming(believed)
		if err != nil {
			return t, fmt.Errorf("the setting %s of the cluster's state: %w", name, err)
		}
		t.Fence = max(t.Fence, b.Fence)
	}
	return t, nil
}
