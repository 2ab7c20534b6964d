package workers

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/environ"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxEnvs bounds the environments of one job.
const maxEnvs = 4096

// Job is what the processes of one job have in common. The owner's lock guards it,
// except for ID and Sink, which do not change.
type Job struct {
	ID   ids.Job
	Sink *Sink // takes the workers' output; nil: the output stays in files

	envs  map[string]*wire.EnvSpec
	notes map[string]bool // what its zygotes have noted, at most maxNotes texts
}

// NewJob returns a job that has no environment yet.
func NewJob(id ids.Job, sink *Sink) *Job {
	return &Job{ID: id, Sink: sink, envs: make(map[string]*wire.EnvSpec)}
}

// DefineEnv notes an environment of the job. The first definition of a key counts. Whatever the program had of the cluster's secrets in its
// environment is not noted, so neither workers nor other nodes nor the cluster's state get it.
func (j *Job) DefineEnv(e wire.EnvSpec) {
	if e.Key != "" && j.envs[e.Key] == nil && len(j.envs) < maxEnvs {
		e.JobEnv = environ.WithoutIn(e.JobEnv)
		j.envs[e.Key] = &e
	}
}

// Env returns the environment with the key, nil if it was not defined.
func (j *Job) Env(key string) *wire.EnvSpec { return j.envs[key] }

// Envs returns the number of environments.
func (j *Job) Envs() int { return len(j.envs) }
