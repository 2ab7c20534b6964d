package submit

import (
	"reflect"
	"unsafe"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// unknownActor returns the row of an actor that a process does not list.
func unknownActor(c *Submitter, n byte) *Actor {
	a := &Actor{c: c}
	c.actors.Add(&a.Actor, a, ids.Actor{n}, "A")
	return a
}

// setActor sets fields that only package actors writes, which are given as pairs of name and value.
func setActor(a *Actor, pairs ...any) *Actor {
	for i := 0; i < len(pairs); i += 2 {
		f := actorField(a, pairs[i].(string))
		f.Set(reflect.ValueOf(pairs[i+1]).Convert(f.Type()))
	}
	return a
}

// actorField returns a field that only package actors writes.
func actorField(a *Actor, name string) reflect.Value {
	f := reflect.ValueOf(&a.Actor).Elem().FieldByName(name)
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// setConstructor gives an actor a constructor whose arguments a task holds.
func setConstructor(a *Actor, t *Task, announced, again bool) {
	x := &snapshot.Creation{Request: wire.ActorCreate{ActorID: a.ID[:], Name: "its name"}, Announce: announced, Again: again}
	a.RestoreCreation(x, &constructor{a.c, t, t.Template})
}

// takes returns what a task takes, as its snapshot has it.
func takes(t *Task) (x snapshot.Task) {
	t.Write(&x)
	return x
}
