package client

import (
	"fmt"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// A class may have alternatives: what does when its own resources are not
// free. The daemon chooses, lease by lease; a lease's choice is 0 for the
// class's own resources, else the number of the alternative. A task becomes
// what the choice says when it is sent, and chooses anew when it is sent again.
//
// Two rules keep the order of preference. A lease of a choice that is not the
// best which may come free goes back as soon as it has nothing to do: the next
// task asks the daemon again. And with a time to wait for the first choice a
// lease of another one serves one task, one that has waited for so long (due.go).

// addFallback completes and registers the templates of a template's alternatives; mu held.
func (c *submitter) addFallback(t *Template) error {
	if len(t.Fallback) > wire.MaxAlternatives {
		return fault.New(fault.BadRequest, "task %s: fallback has %d alternatives, at most %d are allowed", t.Name, len(t.Fallback), wire.MaxAlternatives)
	}
	for i, o := range t.Fallback {
		x := *o
		x.Kind, x.Returns, x.MaxRetries, x.RetryErrs, x.EnvKey, x.Strategy, x.Flow = t.Kind, t.Returns, t.MaxRetries, t.RetryErrs, t.EnvKey, t.Strategy, t.Flow
		if len(x.FID) == 0 {
			x.FID, x.Blob = t.FID, t.Blob
		}
		if x.Name == "" {
			x.Name = t.Name
		}
		x.Fallback = nil
		x.id, x.maker = c.newID(&x), t.maker
		x.intern()
		t.Fallback[i] = &x
	}
	return nil
}

// as returns the template that the task has in a choice.
func (t *Template) as(choice int) *Template {
	if choice == 0 {
		return t
	}
	return t.Fallback[choice-1]
}

// returnResting gives leases without work back before a want with alternatives
// is stated: what this process only keeps for tasks that may come counts as
// free, and the first choice is to be taken when it is free; mu held.
func (c *submitter) returnResting(k *class) {
	for _, l := range c.leases {
		if l.resting && l.class != k {
			c.returnLease(l)
		}
	}
}

// makesRoomFor is the same before an actor is created that has alternatives; mu held.
func (c *submitter) makesRoomFor(req *wire.ActorCreate) {
	if len(req.Fallback) > 0 {
		c.returnResting(nil)
	}
}

func (t *Template) fallbackKey(b *strings.Builder) {
	for _, o := range t.Fallback {
		b.WriteString("|else ")
		resourcesKey(b, o.Resources)
		fmt.Fprintf(b, "|%d|%x", o.MaxCalls, o.FID)
	}
	if t.AfterMs > 0 {
		fmt.Fprintf(b, "|after %d", t.AfterMs)
	}
}

func (t *Template) alternatives() (list []wire.Alternative) {
	for _, o := range t.Fallback {
		list = append(list, wire.Alternative{Resources: o.Resources})
	}
	return list
}

// once: a lease that was given because the first choice did not come in time.
func (l *lease) once() bool { return l.choice > 0 && l.class.after > 0 }

// before reports whether a task should rather go to l than to o: the one that
// has less to do, then the better choice.
func (l *lease) before(o *lease) bool {
	return l.busy < o.busy || l.busy == o.busy && l.choice < o.choice
}
