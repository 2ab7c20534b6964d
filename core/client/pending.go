package client

import (
	"fmt"
	"sort"
	"time"

	"github.com/eagleray/eagleray/core/own"
	"github.com/eagleray/eagleray/core/wire"
)

// pendingAfter is when what waits says why.
const (
	pendingAfter = 10 * time.Second
	pendingAgain = time.Minute
	pendingLook  = time.Second // from one look to the next while something waits
)

// waitReport is one kind of thing that waits: a class of tasks, the actors of
// a class, or tasks whose arguments are not there.
type waitReport struct {
	tasks  int
	actors int
	name   string
	ask    *wire.ClassTrouble // the daemon knows why
	why    string
}

// watchPending looks in some seconds whether anything still waits; mu held.
func (c *Client) watchPending() { c.watchPendingIn(pendingAfter) }

func (c *Client) watchPendingIn(d time.Duration) {
	if c.pendingArmed || c.closed {
		return
	}
	c.pendingArmed = true
	if c.pendingTimer == nil {
		c.pendingTimer = time.AfterFunc(d, c.reportPending)
	} else {
		c.pendingTimer.Reset(d)
	}
}

// reportPending warns about what has waited for long, once a minute for each kind.
func (c *Client) reportPending() {
	c.mu.Lock()
	c.pendingArmed = false
	if c.closed {
		c.mu.Unlock()
		return
	}
	reports, again := c.stillWaiting(time.Now())
	if again {
		c.watchPendingIn(pendingLook)
	}
	c.mu.Unlock()
	for _, r := range reports {
		why := r.why
		if r.ask != nil {
			if err := c.call(wire.TWhoHolds, r.ask, &why); err != nil {
				why = err.Error()
			}
		}
		if why == "" {
			continue // it began meanwhile
		}
		c.notes.add(Note{Warning: fmt.Sprintf("%s %s waited for more than %v: %s", r.subject(), r.have(), pendingAfter, why)})
	}
}

func (r *waitReport) subject() string {
	switch {
	case r.actors == 1:
		return fmt.Sprintf("actor %s", r.name)
	case r.actors > 1:
		return fmt.Sprintf("%d actors %s", r.actors, r.name)
	case r.tasks == 1:
		return fmt.Sprintf("task %s", r.name)
	}
	return fmt.Sprintf("%d tasks %s", r.tasks, r.name)
}

func (r *waitReport) have() string {
	if r.actors+r.tasks == 1 {
		return "has"
	}
	return "have"
}

// stillWaiting collects what has waited since before the last look; mu held.
func (c *Client) stillWaiting(now time.Time) (out []*waitReport, again bool) {
	due := func(key string) bool {
		if now.Before(c.reported[key]) {
			return false
		}
		if c.reported == nil {
			c.reported = map[string]time.Time{}
		}
		c.reported[key] = now.Add(pendingAgain)
		return true
	}
	for _, k := range c.classes {
		if k.queue.len() == 0 || k.bad != nil {
			continue
		}
		again = true
		if now.Sub(k.since) >= pendingAfter-time.Millisecond && due("class "+k.name) {
			out = append(out, &waitReport{tasks: k.queue.len(), name: k.name, ask: &wire.ClassTrouble{ClassID: k.id}})
		}
	}
	actors := map[string]*waitReport{}
	for _, a := range c.actors {
		if a.conn != nil || a.dead != nil || a.bad != nil || a.queue.len() == 0 {
			continue
		}
		again = true
		r := actors[a.name]
		if r == nil {
			r = &waitReport{name: a.name, ask: &wire.ClassTrouble{ActorID: a.id[:]}}
			actors[a.name] = r
		}
		r.actors++
	}
	for name, r := range actors {
		if due("actor " + name) {
			out = append(out, r)
		}
	}
	late := c.waitingToRetry(now)
	again = again || len(c.delayed) > 0
	for _, r := range late {
		if due("task " + r.name) {
			out = append(out, r)
		}
	}
	deps := c.waitingForArguments()
	again = again || len(deps) > 0
	for _, r := range deps {
		if due("task " + r.name) {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, again
}

// waitingForArguments groups the tasks whose arguments are not ready by function.
func (c *Client) waitingForArguments() (out []*waitReport) {
	byName := map[string]*waitReport{}
	c.table.Each(func(o *own.Object) bool {
		t, ok := o.Producer.(*task)
		if !ok || t.waiting == 0 || o.ID.Index() != 1 || o.State != own.Pending {
			return true
		}
		r := byName[t.tmpl.Name]
		if r == nil {
			r = &waitReport{name: t.tmpl.Name}
			for _, d := range t.deps {
				if !d.State.Ready() {
					r.why = "argument " + c.describe(d)
					break
				}
			}
			byName[t.tmpl.Name] = r
			out = append(out, r)
		}
		r.tasks++
		return true
	})
	return out
}

// describe says what an object that is not ready waits for.
func (c *Client) describe(o *own.Object) string {
	t, ok := o.Producer.(*task)
	switch {
	case !o.Owned():
		return fmt.Sprintf("%s is not ready; the process at %s owns it", o.ID, o.OwnerAddr)
	case !ok:
		return fmt.Sprintf("%s is not ready", o.ID)
	case c.delayed[t] != nil:
		return fmt.Sprintf("%s is computed by %s, which is %s", o.ID, t.tmpl.Name, c.delayed[t].describe(time.Now()))
	case t.on != nil:
		return fmt.Sprintf("%s is computed by %s, which runs", o.ID, t.tmpl.Name)
	case t.waiting > 0:
		return fmt.Sprintf("%s is computed by %s, which waits for an argument, too", o.ID, t.tmpl.Name)
	}
	return fmt.Sprintf("%s is computed by %s, which has not started", o.ID, t.tmpl.Name)
}
