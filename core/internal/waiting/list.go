package waiting

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Report says that one kind of thing waits: tasks of a class, actors of a class, or tasks of a
// function that are tried again later or whose arguments are not there.
type Report struct {
	Name   string
	Tasks  int
	Actors int
	Ask    *wire.ClassTrouble // what the daemon is asked, which knows why; nil:
	Why    string             // the reason is this

	kind string // what is reported once a minute has the same kind and name
}

// Warning says what has waited for long, and why.
func (r *Report) Warning(why string) string {
	return fmt.Sprintf("%s %s waited for more than %v: %s", r.Subject(), r.have(), After, why)
}

// Subject names what waits.
func (r *Report) Subject() string {
	switch {
	case r.Actors == 1:
		return fmt.Sprintf("actor %s", r.Name)
	case r.Actors > 1:
		return fmt.Sprintf("%d actors %s", r.Actors, r.Name)
	case r.Tasks == 1:
		return fmt.Sprintf("task %s", r.Name)
	}
	return fmt.Sprintf("%d tasks %s", r.Tasks, r.Name)
}

func (r *Report) have() string {
	if r.Actors+r.Tasks == 1 {
		return "has"
	}
	return "have"
}

// List is what waits for long. The zero value is empty and ready.
type List struct {
	All []*Report // in the order in which they were found

	actors, retries, arguments map[string]*Report // by name
}

// Class adds the tasks in the queue of a scheduling class.
func (l *List) Class(id uint32, name string, tasks int) {
	l.All = append(l.All, &Report{Name: name, Tasks: tasks, Ask: &wire.ClassTrouble{ClassID: id}, kind: "class "})
}

// Actor adds an actor whose calls cannot be sent. The daemon is asked about the first actor of a name.
func (l *List) Actor(id []byte, name string) {
	r, first := l.named(&l.actors, name, "actor ")
	if r.Actors++; first {
		r.Ask = &wire.ClassTrouble{ActorID: id}
	}
}

// Retry adds a task that is tried again later. Why is asked for the first task of a name.
func (l *List) Retry(name string, why func() string) { l.task(&l.retries, name, why) }

// Argument adds a task that waits for an argument. Why is asked for the first task of a name.
func (l *List) Argument(name string, why func() string) { l.task(&l.arguments, name, why) }

func (l *List) task(by *map[string]*Report, name string, why func() string) {
	r, first := l.named(by, name, "task ")
	if r.Tasks++; first {
		r.Why = why()
	}
}

// named returns the report about a name, and whether it is new.
func (l *List) named(by *map[string]*Report, name, kind string) (r *Report, first bool) {
	if r = (*by)[name]; r != nil {
		return r, false
	}
	if *by == nil {
		*by = map[string]*Report{}
	}
	r = &Report{Name: name, kind: kind}
	(*by)[name] = r
	l.All = append(l.All, r)
	return r, true
}
