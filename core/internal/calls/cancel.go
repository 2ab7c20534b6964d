package calls

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/cancellation"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Cancel ends the task that returns the object. It leaves a finished task alone. If
// the task was sent, its worker has heard of the cancellation when Cancel returns, unless many
// tasks are cancelled in a row. If another process has submitted the task, Cancel asks that
// process or its successor.
func (x *Calls) Cancel(id ids.Object, force, recursive bool) error {
	k, patience, owned, err := x.beginCancel(id, force, recursive)
	if k == nil {
		return err
	}
	if err = k.Await(patience); owned { // only an owner refuses: a worker that does not understand ends the wait
		return nil
	}
	return err
}

// beginCancel begins to cancel the task that returns the object. Owned: this process has submitted the task.
func (x *Calls) beginCancel(id ids.Object, force, recursive bool) (k *cancellation.Cancellation, patience time.Duration, owned bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	o, err := x.objects.Find(id)
	if err != nil {
		return nil, 0, false, err
	}
	k, patience, err = x.submit.CancelObject(o, force, recursive, time.Now())
	return k, patience, o.Owned(), err
}

// ServeCancel serves a cancellation that another process asks for. The task runs
// in this process, or was submitted by it.
func (x *Calls) ServeCancel(q *wire.Cancel, m *wire.Message) {
	if len(q.ObjectID) == 0 {
		x.cancelHere(q)
		_ = m.Reply(nil)
		return
	}
	id, err := ids.ParseObject(q.ObjectID)
	if err != nil {
		_ = m.Fail(fault.New(fault.BadRequest, "%v", err))
		return
	}
	go func() { // it waits for the worker of the task
		if err := x.Cancel(id, q.Force, q.Recursive); err != nil && fault.CodeOf(err) == fault.BadRequest {
			_ = m.Fail(err)
			return
		}
		_ = m.Reply(nil) // an object that is gone needs no cancelling
	}()
}

// cancelHere cancels a task that runs in this process, or waits here.
func (x *Calls) cancelHere(q *wire.Cancel) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.exec != nil {
		x.exec.Cancel(q)
	}
}
