package calls

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/cancellation"
	"github.com/eagleray/eagleray/core/internal/submit"
)

// A task knows the call that submitted it. Recursive cancellation ends the tasks
// that the cancelled call has submitted, and no task of other calls in the process.

// NoParent as Call.Parent says that no running call submits the task.
const NoParent = ^uint64(0)

// parent returns the call that a submission belongs to: the one that the
// program names, else the task that runs, whose thread it then is. An actor's
// threads may be older than its calls, and are nobody's; mu held.
func (x *Calls) parent(named uint64) uint64 {
	switch {
	case named == NoParent:
		return 0
	case named != 0 || x.exec == nil:
		return named
	}
	return x.exec.OnlyTask()
}

// CancelChildren cancels everything that a call has submitted. The returned channel is
// closed when all workers concerned have heard, or their time is over; mu held.
func (x *Calls) CancelChildren(token uint64, force bool) <-chan struct{} {
	done := make(chan struct{})
	list := x.submit.ChildrenOf(token)
	if len(list) == 0 {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		var sent []*cancellation.Cancellation
		for _, t := range list {
			if k := x.cancelChild(t, force); k != nil {
				sent = append(sent, k)
			}
		}
		end := time.Now().Add(submit.CancelPatience)
		for _, k := range sent {
			_ = k.Await(time.Until(end))
		}
	}()
	return done
}

// cancelChild cancels a task that a cancelled call has submitted. nil: nobody has to hear of that.
func (x *Calls) cancelChild(t *submit.Task, force bool) *cancellation.Cancellation {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.objects.Closed() {
		return nil
	}
	return x.submit.CancelChild(t, force)
}
