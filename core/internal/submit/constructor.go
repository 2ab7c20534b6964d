package submit

import (
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// constructor is the call of an actor's constructor. It is written down in the actor's
// registration, and never queued or sent as a task.
type constructor struct {
	c        *Submitter
	task     *Task // holds the arguments
	template *Template
}

var _ actors.Constructor = (*constructor)(nil)

// ConstructorOf returns the template of an actor's constructor.
func ConstructorOf(s *actors.Spec) *Template {
	t := &Template{Kind: frame.KindTask, Name: s.ClassName, FID: s.FID, Blob: s.Blob}
	t.Intern()
	return t
}

// Await implements actors.Constructor.
func (k *constructor) Await(ready func()) bool {
	t := k.task
	if t.Waiting == 0 {
		return false
	}
	t.Unwatch(k.c.table, t)
	t.Arguments.Await(k.c.table, wait.Calling(ready).For(int(t.Waiting), int(t.Waiting), false))
	return true
}

// Spec implements actors.Constructor. It encodes the class, then the frame of a task.
func (k *constructor) Spec() []byte {
	t := k.task
	t.Unwatch(k.c.table, t) // it is no task that starts when its arguments come
	b := k.template.Append(nil, true)
	b, at := frame.BeginTask(b, 0, uint64(k.template.ID), t.First, false)
	b = t.AppendRegistration(b, k.c.table)
	return frame.End(b, at)
}

// Takes implements actors.Constructor.
func (k *constructor) Takes() bool { return k.task.Takes() }

// Holds implements actors.Constructor.
func (k *constructor) Holds() bool { return k.task.Holds() }

// Retain implements actors.Constructor.
func (k *constructor) Retain(worker string) { k.c.table.Retain(worker, k.task.Objects()) }

// Release implements actors.Constructor.
func (k *constructor) Release() { k.task.Unpin(k.c.table, true) }
