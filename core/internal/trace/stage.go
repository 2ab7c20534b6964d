package trace

// Stage is a point on a call's way. The numbers are in files, in pybind/hot/trace.c and in the names below.
type Stage uint16

// The stages, in the order in which a call passes them. O: its owner's process, W: the worker's.
const (
	Called   Stage = 1 + iota // O: the program calls remote()
	Packed                    // O: its arguments are serialised, the core begins
	Queued                    // O: the task is made, and waits for a worker and for arguments
	Returned                  // O: remote() gives the reference to the program; beside the way
	Framed                    // O: its frame lies in a socket's buffer
	Wrote                     // O, W: a buffer was written; with a beginning
	Read                      // O, W: a socket was read; with a beginning
	Polled                    // O, W: sockets were waited for; with a beginning
	Arrived                   // W: its frame was read
	Begun                     // W: it is the next one to run, and its arguments are here
	Taken                     // W: Python has it
	Decoded                   // W: its arguments are Python objects
	Ran                       // W: the function has returned
	Encoded                   // W: its results are serialised, the core begins
	Answered                  // W: its answer lies in a socket's buffer
	Settled                   // O: its answer was read
	Found                     // O: the waiting thread has the value's bytes
	Given                     // O: the value is a Python object
	stages                    // how many, and one
)

// names stand in each file, so that who reads it needs no table of its own.
var names = [stages]string{"", "called", "packed", "queued", "returned", "framed", "wrote", "read", "polled", "arrived", "begun", "taken",
	"decoded", "ran", "encoded", "answered", "settled", "found", "given"}

func (s Stage) String() string {
	if s < stages {
		return names[s]
	}
	return "unknown"
}
