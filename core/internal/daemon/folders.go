package daemon

import (
	"context"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// defineEnv serves TEnvDefine. The answer to an environment with folders comes when the head has them.
func (d *Daemon) defineEnv(c *client, m *wire.Message) error {
	var q wire.EnvSpec
	if err := m.Decode(&q); err != nil {
		return err
	}
	var j *job
	if d.locked(func() { j = c.job }); j == nil {
		return fault.New(fault.BadRequest, "a process without a job has no environments")
	}
	if err := checkFolders(&q); err != nil {
		return err
	}
	if c.role == wire.RoleGuest || !d.packages.Needs(&q) {
		d.locked(func() { j.DefineEnv(q) })
		_ = m.Reply(nil)
		return nil
	}
	go func() {
		if err := d.packages.Pack(d.ctx, j.ID, &q); err != nil {
			_ = m.Fail(err)
			return
		}
		d.locked(func() { j.DefineEnv(q) })
		_ = m.Reply(nil)
	}()
	return nil
}

// packFolders brings the folders of a new job's environment to the head.
func (d *Daemon) packFolders(id ids.Job, e *wire.EnvSpec) error {
	err := checkFolders(e)
	if err == nil && d.packages.Needs(e) {
		err = d.packages.Pack(d.ctx, id, e)
	}
	if err != nil {
		d.packages.Left(id)
		d.packages.Ended(id)
	}
	return err
}

// provide makes what an environment needs on this node.
func (d *Daemon) provide(ctx context.Context, e *wire.EnvSpec, env []string) (*workers.Provided, error) {
	p, err := d.provided.Provide(ctx, e, env)
	if err != nil {
		return nil, err
	}
	return &workers.Provided{Command: p.Command, Answers: p.Answers, Free: p.Free}, nil
}

func checkFolders(e *wire.EnvSpec) error {
	if n := len(e.Needs); n > wire.MaxNeeds {
		return fault.New(fault.BadRequest, "a runtime environment needs %d things, at most %d are allowed", n, wire.MaxNeeds)
	}
	if n := len(e.Packages); n > wire.MaxPackages {
		return fault.New(fault.BadRequest, "a runtime environment has %d folders, at most %d are allowed", n, wire.MaxPackages)
	}
	return nil
}
