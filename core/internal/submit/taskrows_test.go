package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestTask_State_NoNodeCanRunIt_HasFailed(t *testing.T) {
	of := func(class *Class, actor *Actor) *Task { return &Task{Template: &Template{Class: class}, actor: actor} }
	actor := func(why *fault.Error) *Actor {
		a := setActor(&Actor{}, "bad", why)
		a.ID = ids.Actor{1}
		return a
	}
	waits := of(&Class{Bad: fault.New(fault.TaskUnschedulable, "")}, nil)
	waits.Waiting = 1
	for name, x := range map[string]struct {
		task *Task
		want string
	}{
		"a task":                          {of(&Class{}, nil), wire.TaskWaitsForNode},
		"no node can run it":              {of(&Class{Bad: fault.New(fault.TaskUnschedulable, "")}, nil), wire.TaskFailed},
		"its argument is not there yet":   {waits, wire.TaskWaitsForArguments},
		"a call":                          {of(nil, actor(nil)), wire.TaskWaitsForActor},
		"no node can start its actor":     {of(nil, actor(fault.New(fault.ActorUnschedulable, ""))), wire.TaskFailed},
		"the head cannot start its actor": {of(nil, actor(fault.New(fault.HeadUnavailable, ""))), wire.TaskWaitsForActor},
	} {
		if got := x.task.state(); got != x.want {
			t.Errorf("%s: got %s, want %s", name, got, x.want)
		}
	}
}
