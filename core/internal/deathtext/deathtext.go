package deathtext

import (
	"fmt"
	"strings"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Lines returns the lines that name an actor in errors about it. The pid is 0 if the record
// knows it, and the address is that of the node that the actor runs on, or has run on.
func Lines(a *record.Actor, pid int, address string) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\t%s: %s\n", name, strings.ReplaceAll(value, "\n", " "))
		}
	}
	line("class_name", a.ClassName)
	line("actor_id", a.ID.String())
	for _, p := range []int{pid, a.Pid, a.Previous.Pid} {
		if p != 0 {
			line("pid", fmt.Sprint(p))
			break
		}
	}
	line("name", a.Name)
	line("namespace", a.Namespace)
	line("ip", address)
	return b.String()
}

// Reply returns what callers of a dead actor are told, from its record.
func Reply(a *record.Actor, address string) wire.ActorDeath {
	return wire.ActorDeath{State: wire.ActorDead, Cause: string(a.Cause.Fault()), Message: Of(a, address), Error: a.Cause.Error}
}

// Forgotten returns what callers are told of an actor whose record is no longer kept.
func Forgotten(id ids.Actor) wire.ActorDeath {
	return wire.ActorDeath{State: wire.ActorDead, Message: fmt.Sprintf("\tactor_id: %s\nThe actor is dead; it ended long ago.", id)}
}

// Of names a dead actor and says how it ended.
func Of(a *record.Actor, address string) string {
	because := "The actor is dead because "
	if a.Cause.Reason == record.NodeDied { // programs match these words
		because = "The actor died because "
	}
	text := Lines(a, 0, address) + because + Cause(a.Cause.Reason, a.Cause.Message) + "."
	if a.MaxRestarts > 0 && a.Counted() >= a.MaxRestarts && restartable(a.Cause.Reason) {
		text += fmt.Sprintf(" It was restarted as often as max_restarts allows, which is %d.", a.MaxRestarts)
	}
	return text
}

// restartable reports whether an actor that ended for this reason is restarted, if its
// max_restarts allow it.
func restartable(r record.Reason) bool {
	switch r {
	case record.WorkerDied, record.NodeDied, record.OutOfMemory, record.GPUMemory, record.Killed:
		return true
	}
	return false
}

// Cause says in words how an incarnation ended.
func Cause(r record.Reason, detail string) string {
	with := func(text string) string {
		if detail == "" {
			return text
		}
		return text + ": " + strings.TrimSuffix(detail, ".")
	}
	switch r {
	case record.Killed:
		return "it was killed by `ray.kill`"
	case record.Released:
		return "all references to it were removed"
	case record.WorkerDied:
		return with("its worker process has died")
	case record.Exited:
		return with("its worker process has ended on purpose (INTENDED_USER_EXIT)")
	case record.OwnerDied:
		return with("its owner has died")
	case record.JobEnded:
		return with("its job has ended")
	case record.StartFailed:
		return with("it could not be started")
	case record.EnvFailed:
		return with("its runtime environment could not be made")
	case record.NodeBusy:
		return with("its node had no room for it")
	case record.OutOfMemory:
		return with("its node ran out of memory")
	case record.GPUMemory:
		return with("it used more of a GPU's memory than it had asked for")
	case record.NodeDied:
		return with("its node has died")
	case record.GroupGone:
		return with("its placement group was removed")
	}
	return with(string(r))
}
