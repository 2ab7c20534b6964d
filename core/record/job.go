package record

import (
	"encoding/binary"

	"github.com/eagleray/eagleray/core/ids"
)

// JobState is whether a driver's program still runs.
type JobState string

// The states of a job.
const (
	JobRunning  JobState = "RUNNING"
	JobFinished JobState = "FINISHED" // the driver said goodbye
	JobLost     JobState = "LOST"     // the driver is gone without a word
	JobLeft     JobState = "LEFT"     // the driver is gone, and the job goes on for its detached actors
)

// Job is one driver's program.
type Job struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	Namespace  string            `msgpack:"ns"`
	Entrypoint string            `msgpack:"entry"`
	Node       ids.Node          `msgpack:"node"` // where the driver runs
	DriverPid  int               `msgpack:"pid"`
	Driver     ids.Owner         `msgpack:"driver"`
	StartedMs  int64             `msgpack:"started"`
	Metadata   map[string]string `msgpack:"meta"`

	// Kept by the state. Numbers count from 1 and are never used again.
	ID      ids.Job  `msgpack:"id"`
	State   JobState `msgpack:"state"`
	Leaves  JobState `msgpack:"leaves"` // of a job that is LEFT: its state when its last detached actor is dead
	Message string   `msgpack:"msg"`
	EndedMs int64    `msgpack:"ended"`
}

// Over reports whether nothing of the job goes on any more.
func (j *Job) Over() bool { return j.State != JobRunning && j.State != JobLeft }

// JobNumber returns the number of a job id.
func JobNumber(j ids.Job) uint32 { return binary.BigEndian.Uint32(j[:]) }
