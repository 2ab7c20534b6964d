package linkmsg

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// TJobAsk is what the daemon of a node that is to start an actor asks the node of the actor's creator (package visitors). Its number is
// never reused.
const TJobAsk wire.Type = 236 // call: JobAsk → JobInfo

// MaxJobInfo bounds the body of a JobInfo, in bytes. The variables of an environment alone may have 8 MiB.
const MaxJobInfo = 12 << 20

// JobAsk asks for a job and one of its environments.
type JobAsk struct {
	Job ids.Job `msgpack:"job"`
	Env string  `msgpack:"env"` // key of the environment; "": none is needed
}

// JobInfo answers a JobAsk.
type JobInfo struct {
	Known     bool   `msgpack:"known"` // else the job has ended there, or never had that environment
	Namespace string `msgpack:"ns"`
	Env       *Env   `msgpack:"env"` // nil if none was asked for
}

// Env is a wire.EnvSpec as it travels between nodes.
type Env struct {
	Key     string            `msgpack:"key"`
	Python  string            `msgpack:"python"`
	SysPath []string          `msgpack:"sys_path"`
	Cwd     string            `msgpack:"cwd"`
	Env     map[string]string `msgpack:"env"`
	Preload []string          `msgpack:"preload"`
	Bare    bool              `msgpack:"bare"`
	JobEnv  map[string]string `msgpack:"job_env"`

	Packages []wire.Package `msgpack:"packages"`
}

// EnvOf returns an environment as it travels, nil for none.
func EnvOf(e *wire.EnvSpec) *Env {
	if e == nil {
		return nil
	}
	x := Env(*e)
	return &x
}

// Spec returns the environment that has travelled, nil for none.
func (e *Env) Spec() *wire.EnvSpec {
	if e == nil {
		return nil
	}
	x := wire.EnvSpec(*e)
	return &x
}

// DecodeJobInfo reads a JobInfo that answers a question about an environment.
func DecodeJobInfo(b []byte, env string) (*JobInfo, error) {
	i := new(JobInfo)
	if err := Decode("what another node knows of a job", b, MaxJobInfo, i); err != nil {
		return nil, err
	}
	if i.Known && env != "" && (i.Env == nil || i.Env.Key != env) {
		return nil, fault.New(fault.BadRequest, "what another node knows of a job lacks the environment that was asked for")
	}
	return i, nil
}
