package submit

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// What the reference table keeps of the submitting half: the task or the actor that an object comes from.

var (
	_ refs.Task   = (*Task)(nil)
	_ refs.Source = (*Actor)(nil)
)

// TaskOf returns the task that an object comes from, nil when it comes from none.
func TaskOf(s refs.Source) *Task {
	t, _ := s.(*Task)
	return t
}

// actorOf returns the actor whose lifetime token the object is, nil when it is none.
func actorOf(o *refs.Object) *Actor {
	a, _ := o.Source().(*Actor)
	return a
}

// IsActor implements refs.Source.
func (*Task) IsActor() bool { return false }

// IsActor implements refs.Source.
func (*Actor) IsActor() bool { return true }

// idBytes returns an id as messages carry it.
func idBytes(id ids.Object) []byte { return append([]byte(nil), id[:]...) }
