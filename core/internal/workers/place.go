package workers

import (
	"context"
	"errors"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Place brings what an environment of a job needs to this node, and returns the environment with paths of this node. It may take long.
type Place func(ctx context.Context, job ids.Job, e *wire.EnvSpec) (*wire.EnvSpec, error)

// placed brings what the environment needs to this node. The zygote's end ends that.
func (z *Zygote) placed() error {
	if z.place == nil || len(z.spec.Packages) == 0 {
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
	spec, err := z.place(ctx, z.job, z.spec)
	if err == nil {
		z.spec = spec
	}
	return err
}
