package workers

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Place brings what an environment of a job needs to this node, and returns the environment with paths of this node. It may take long.
type Place func(ctx context.Context, job ids.Job, e *wire.EnvSpec) (*wire.EnvSpec, error)

// longestHook is how long a hook may take whose environment says nothing else, or has no limit.
const longestHook = 10 * time.Minute

// Provide makes what an environment needs beyond its files (package provision). It may take long. The program that makes it has the given variables.
type Provide func(ctx context.Context, e *wire.EnvSpec, env []string) (*Provided, error)

// Provided is what was made for an environment.
type Provided struct {
	Command []string          // the interpreter and its arguments; empty: the environment's
	Answers []json.RawMessage // for the zygote, one for each need
	Free    func()            // says that no process uses it any more
}

// placed brings what the environment needs to this node, and makes what it needs here. The zygote's end ends that.
func (z *Zygote) placed() error {
	packages := z.place != nil && len(z.spec.Packages) > 0
	needs := z.provide != nil && len(z.spec.Needs) > 0
	if !packages && !needs {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		select {
		case <-z.stop:
			cancel(errors.New(z.why))
		case <-ctx.Done():
		}
	}()
	if packages {
		spec, err := z.place(ctx, z.job, z.spec)
		if err != nil {
			return err
		}
		z.spec = spec
	}
	if !needs {
		return nil
	}
	made, err := z.provide(ctx, z.spec, z.environment())
	z.locked(func() { z.made = made })
	return err
}

// hookTime is what a worker may take to call the hook of its environment, before it is ready.
func hookTime(e *wire.EnvSpec) time.Duration {
	limit := time.Duration(0)
	for _, n := range e.Needs {
		if n.Field == wire.NeedHook {
			limit = longestHook
		}
	}
	for _, n := range e.Needs {
		var l wire.NeedLimits
		if n.Field == wire.NeedConfig && limit > 0 && json.Unmarshal([]byte(n.What), &l) == nil && l.Seconds > 0 && l.Seconds < longestHook.Seconds() {
			limit = time.Duration(l.Seconds * float64(time.Second))
		}
	}
	return limit
}

// environment returns the variables that the interpreter starts with.
func (z *Zygote) environment() []string {
	return append(mergedEnv(z.spec, z.node), jobVar+"="+z.job.String(), sessionVar+"="+filepath.Base(filepath.Dir(z.sock)))
}

// command returns what a zygote is started with.
func (z *Zygote) command() []string {
	if z.made == nil || len(z.made.Command) == 0 || z.spec.IsGo() {
		return zygoteArgs(z.spec)
	}
	return append(slices.Clone(z.made.Command), zygoteArgs(z.spec)[1:]...)
}

// free says that no process uses what was made for the environment any more.
func (z *Zygote) free() {
	var made *Provided
	z.locked(func() { made, z.made = z.made, nil })
	if made != nil {
		go made.Free() // it may touch the disk
	}
}
