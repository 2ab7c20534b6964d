package notice

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/envelope"
)

// Failure is what a task came to that nobody has looked at.
type Failure struct {
	First uint64       // count of the task's first return
	Name  string       // of the task's function
	Fault *fault.Error // why the task failed; nil: it raised an exception
	Value []byte       // the exception's envelope; nil: it lay in the store
	Size  uint64       // bytes of the exception
}

// text returns the text about the failure for the user, "" when the failure is not worth reporting.
func (x *Failure) text() string {
	if x.Fault != nil {
		if !isTold(x.Fault.Code) {
			return ""
		}
		return x.Fault.Message
	}
	if x.Value == nil {
		return fmt.Sprintf("%s raised an exception of %d bytes, which lay in the object store", x.Name, x.Size)
	}
	if f := envelope.FaultIn(x.Value); f != nil {
		if f.Code == fault.ActorDied {
			return ""
		}
		return x.Name + " failed: " + f.Message
	}
	p, err := envelope.PointerIn(x.Value)
	switch {
	case p == nil || err != nil:
		return envelope.ExceptionText(x.Value, x.Name)
	case len(p.Brief) > 0:
		return envelope.ExceptionText(envelope.Brief(p.Brief), x.Name)
	}
	return fmt.Sprintf("%s failed because of an exception of %d bytes, which lay in the object store", x.Name, p.Size)
}

// isTold reports whether a fault is worth reporting when nobody has asked for it.
func isTold(code fault.Code) bool {
	switch code {
	case fault.WorkerCrashed, fault.OutOfMemory, fault.GPUMemoryExceeded, fault.RuntimeEnvSetup, fault.TaskUnschedulable:
		return true
	}
	return false
}
