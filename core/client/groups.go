package client

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wait"
)

// An actor may have concurrency groups. The calls of each wait in a lane of their own, in order, and each lane
// has threads of its own in NextTask, so no group waits for another. Calls of methods without a group wait in the
// default lane, which is the only one that other workers have.
//
// Calls of one caller may so begin in another order than they were sent in. When the actor's process dies, those that
// were sent before one that had begun count as begun too, for the actor notes one number for each caller.

// SystemGroup is a concurrency group that every actor has. Its thread begins with its first call.
const SystemGroup = "_ray_system"

// maxGroups bounds what a program may declare.
const maxGroups = 1000

// lane is a queue of calls, and the threads that wait for one.
type lane struct {
	name    string // of the group; empty: the default one
	queue   []*call
	waiting []*wait.Wait // threads in NextTask
	index   queueIndex
	pushed  int    // calls that were ever queued
	parks   int    // calls that are parked
	serve   func() // begins the thread of a lane that has none yet
	bytes   int    // of the calls that wait, of an actor with groups
	held    bool   // callers were told to send it no more
}

// wakeAll makes every thread of the lane look again; mu held.
func (l *lane) wakeAll(c *Client) {
	for _, w := range l.waiting {
		c.poller.Finish(w)
	}
	l.waiting = nil
}

// DeclareGroups says which concurrency groups this actor has beside the default one. The program has threads for all
// of them but the system group: serve, if it is set, begins the thread of that one when there is a call.
func (c *Client) DeclareGroups(names []string, serve func()) error {
	if len(names) > maxGroups {
		return fault.New(fault.BadRequest, "an actor may have at most %d concurrency groups, this one declares %d", maxGroups, len(names))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	e.groups = make(map[string]*lane, len(names)+1)
	if serve != nil {
		e.groups[SystemGroup] = &lane{name: SystemGroup, serve: serve}
	}
	for _, name := range names {
		e.groups[name] = &lane{name: name}
	}
	if len(names) > 0 {
		e.backlog.share = e.backlog.most / (1 + len(e.groups))
	}
	return nil
}

// laneOf is where a call waits.
func (e *executor) laneOf(k *call) *lane {
	if k.tmpl != nil && k.tmpl.Group != "" {
		if l := e.groups[k.tmpl.Group]; l != nil {
			return l
		}
	}
	return &e.lane
}

// hasGroup reports whether the group in which a caller wants a call to run exists. The
// system group of an actor whose program runs all calls on one event loop is the default one.
func (e *executor) hasGroup(k *call) bool {
	g := k.tmpl.Group
	return g == "" || g == SystemGroup || e.groups[g] != nil
}

// refuse answers a call of a group that this actor has not; mu held.
func (e *executor) refuse(k *call) {
	k.taken = true
	e.token++
	e.calls[e.token] = k
	e.busy++
	k.started = time.Now()
	e.answerFault(e.token, k, fault.New(fault.BadRequest, "%s: this actor has no concurrency group %q", k.tmpl.Name, k.tmpl.Group))
}

// eachLane calls f with the default lane and those of the groups.
func (e *executor) eachLane(f func(*lane)) {
	f(&e.lane)
	for _, l := range e.groups {
		f(l)
	}
}

// waitingCalls is how many calls wait in all lanes.
func (e *executor) waitingCalls() int {
	n := len(e.queue)
	for _, l := range e.groups {
		n += len(l.queue)
	}
	return n
}

// find returns the call of a task that waits in any lane, nil if none does; mu held.
func (e *executor) find(id ids.Task) *call {
	if k := e.index.find(&e.lane, id); k != nil {
		return k
	}
	for _, l := range e.groups {
		if k := l.index.find(l, id); k != nil {
			return k
		}
	}
	return nil
}
