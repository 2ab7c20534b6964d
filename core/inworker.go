package core

import (
	"os"
	"runtime"
	"slices"

	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/gozygote"
	"github.com/eagleray/eagleray/core/internal/inside"
	"github.com/eagleray/eagleray/core/internal/value"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A worker of a Go program has a session over the connection by which it gets its calls, see package core/worker.

func init() { inside.Open = openWorker }

// workerSession is what package core/worker sees of a session.
type workerSession struct{ *Session }

// openWorker makes the session of a worker.
func openWorker(c *client.Client, start *gozygote.Start) inside.Session {
	s := newSession(c, pythonEnv(start))
	s.ofWorker = true
	s.program, s.programKey = os.Args[0], start.Setup.Env[envKeyVariable]
	close(s.done) // what other workers print goes to drivers
	return workerSession{s}
}

// pythonEnv returns the environment of the Python functions that a Go worker calls: its own one, with the interpreter of the program that
// has started it.
func pythonEnv(start *gozygote.Start) wire.EnvSpec {
	e := wire.EnvSpec{
		Python: start.Setup.Env[goPythonVariable], SysPath: start.Setup.SysPath, Cwd: start.Setup.Cwd, Preload: start.Setup.Preload, Bare: start.Setup.Bare,
		JobEnv: map[string]string{},
	}
	for k, v := range start.JobEnv {
		_, ofEnv := start.Setup.Env[k]
		_, ofNode := start.Setup.NodeEnv[k]
		if !ofEnv && !ofNode && k != "EAGLERAY_JOB_ID" && k != "EAGLERAY_SESSION_MARK" {
			e.JobEnv[k] = v
		}
	}
	variables := map[string]string{}
	for k, v := range start.Setup.Env {
		if !slices.Contains(ownVariables, k) {
			variables[k] = v
		}
	}
	for _, p := range start.Setup.Packages {
		if p.Path != os.Args[0] { // this program
			e.Packages = append(e.Packages, p)
		}
	}
	seal(&e, variables, nil)
	return e
}

// Public implements inside.Session.
func (s workerSession) Public() any { return s.Session }

// Works implements inside.Session.
func (s workerSession) Works(strategy string) { s.inGroup.Store(strategy) }

// Encode implements inside.Session.
func (s workerSession) Encode(v any) (client.Value, error) {
	e, err := value.Encode(v, s.references())
	if err != nil {
		return client.Value{}, err
	}
	return s.valueOf(e)
}

// Reader implements inside.Session.
func (s workerSession) Reader(view uint64) (value.Reader, func()) {
	var keep *pin
	if view != 0 {
		keep = newPin(s.Session, view)
	}
	return s.reader(keep), func() { runtime.KeepAlive(keep) }
}
