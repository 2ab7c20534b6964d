package client

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// The program's user is told when tasks or actors wait for long, and why.
const (
	pendingAfter = 10 * time.Second // how long something has waited when the user is told
	pendingAgain = time.Minute      // until the user is told again
	pendingLook  = time.Second      // from one look to the next, while anything waits
)

// waitReport says that one kind of thing waits: tasks of a class, actors of a class, or
// tasks of a function whose arguments are not there.
type waitReport struct {
	tasks  int
	actors int
	name   string
	ask    *wire.ClassTrouble // what the daemon is asked, which knows why; nil:
	why    string             // the reason is this
}

// pendingTicks is how many looks there were since something began to wait that has waited
// for pendingAfter. It began between two looks.
const pendingTicks = uint32(pendingAfter/pendingLook) + 1

// watchPending looks once a second at what waits, for as long as anything does.
// The number of looks is also the time at which something begins to wait.
func (c *submitter) watchPending() {
	if c.pendingArmed || c.closed {
		return
	}
	c.pendingArmed, c.pendingFrom = true, c.looks
	c.lookAgain()
}

func (c *submitter) lookAgain() {
	if c.pendingTimer == nil {
		c.pendingTimer = c.fx.After(pendingLook, c.reportPending)
	} else {
		c.pendingTimer.Reset(pendingLook)
	}
}

// waitedLong reports whether something that began to wait at a look has waited for pendingAfter.
func (c *submitter) waitedLong(since uint32) bool { return c.looks-since >= pendingTicks }

// reportPending warns about what has waited for long, once a minute for each kind.
func (c *submitter) reportPending() {
	if reports := c.look(); len(reports) > 0 {
		c.fx.Report(reports)
	}
}

// look counts a look, and returns what has waited for long by now.
func (c *submitter) look() []*waitReport {
	c.looks++
	var reports []*waitReport
	again := true
	if c.waitedLong(c.pendingFrom) { // nothing can have waited for long before
		reports, again = c.stillWaiting(time.Now())
	}
	if c.pendingArmed = again; again {
		c.lookAgain()
	}
	return reports
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

// stillWaiting returns what has waited for long and was not reported in the last minute. Again: something waits.
func (c *submitter) stillWaiting(now time.Time) (out []*waitReport, again bool) {
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
		if now.Sub(k.since) >= pendingAfter-time.Millisecond && !k.runs() && due("class "+k.name) {
			out = append(out, &waitReport{tasks: k.queue.len(), name: k.name, ask: &wire.ClassTrouble{ClassID: k.id}})
		}
	}
	actors := map[string]*waitReport{}
	for _, a := range c.actors {
		if a.conn != nil || a.dead != nil || a.bad != nil || a.queue.len() == 0 {
			a.stuck = false
			continue
		}
		again = true
		a.waits(c.looks)
		if !c.waitedLong(a.since) {
			continue
		}
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
	deps, some := c.waitingForArguments()
	again = again || some
	for _, r := range deps {
		if due("task " + r.name) {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, again
}

// runs reports whether a task of the class runs and does not itself wait for an object. Then the tasks behind
// it are in an ordinary queue.
func (k *class) runs() bool {
	return slices.ContainsFunc(k.leases, func(l *lease) bool { return l.busy > 0 && !l.blocked && !l.gone })
}

// isComing reports whether an object that is not ready is being computed, so that nothing is wrong with a task that
// waits for it. An object whose task waits for an argument counts, too: the report about that argument says why.
func (c *submitter) isComing(o *refs.Object) bool {
	t := taskOf(o.Source())
	switch {
	case t == nil || !o.Owned() || c.delayed[t] != nil:
		return false
	case t.on != nil:
		return t.on.lease == nil || !t.on.lease.blocked
	case t.waiting > 0:
		return true
	case t.actor != nil:
		return t.actor.conn != nil
	}
	return t.tmpl.class.runs()
}

// waits notes that calls of the actor cannot be sent, and since which look.
func (a *actor) waits(look uint32) {
	if !a.stuck {
		a.stuck, a.since = true, look
	}
}

// waitingForArguments returns one report for each function whose tasks have waited for their arguments for long.
// Some: there are tasks that wait for arguments, for however long.
func (c *submitter) waitingForArguments() (out []*waitReport, some bool) {
	byName := map[string]*waitReport{}
	c.table.Each(func(o *refs.Object) bool {
		t := taskOf(o.Source())
		if t == nil || t.waiting == 0 || o.ID.Index() != 1 || o.State() != refs.Pending {
			return true
		}
		some = true
		if !c.waitedLong(t.since) {
			return true
		}
		late := slices.IndexFunc(t.deps, func(d *refs.Object) bool { return !d.State().Ready() && !c.isComing(d) })
		if late < 0 {
			return true
		}
		r := byName[t.tmpl.Name]
		if r == nil {
			r = &waitReport{name: t.tmpl.Name, why: "argument " + c.describe(t.deps[late])}
			byName[t.tmpl.Name] = r
			out = append(out, r)
		}
		r.tasks++
		return true
	})
	return out, some
}

// describe says what an object that is not ready waits for.
func (c *submitter) describe(o *refs.Object) string {
	t := taskOf(o.Source())
	switch {
	case !o.Owned():
		return fmt.Sprintf("%s is not ready; the process at %s owns it", o.ID, o.OwnerAddr())
	case t == nil:
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
