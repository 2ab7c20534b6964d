package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// A worker that moves hands its finished tasks over: the successor computes a lost result again, with what the task took.
func TestMove_ResultIsLostAfterwards_TheSuccessorComputesItAgain(t *testing.T) {
	d := startDaemon(t)
	d.successors()
	var m made
	worker := d.makes(&m)
	owner, friend := d.member(t, wire.RoleWorker), d.member(t, wire.RoleDriver)
	f, g := tasks(t, owner.c, "f", 1, 3), tasks(t, owner.c, "g", 2, 3)
	put := owner.put(t, "put")
	text := strings.Repeat("x", MaxInline) // goes to the store, as an object of its own
	a := results(t, owner.c, f, 1, text, put)[0]
	list := results(t, owner.c, g, 2, "y", a)
	owner.refs[a], owner.refs[list[0]], owner.refs[list[1]] = 1, 1, 1
	once := results(t, owner.c, tasks(t, owner.c, "h", 1, 0), 1, "z")[0]
	for _, id := range append(list, once) {
		owner.give(t, id, friend)
	}
	if err := owner.c.Exiting("test"); err != nil {
		t.Fatal(err)
	}
	owner.vanish()
	worker.unpinUnused() // it has looked at what it took
	d.loses(a, list[0], once)
	friend.check(t, list[0], "g0.2,y,f0.2,"+text[:9])
	if got := m.ran(); got != "f g h f g" {
		t.Errorf("ran %q", got)
	}
	friend.check(t, list[1], "g1.1,y,f0.1,"+text[:9])
	if f, err := friend.c.Get(once, testLimit); err != nil || !f.IsError || !strings.Contains(string(f.Envelope), "without retries") {
		t.Errorf("what cannot be computed again: %v, %v", f, err)
	}
	for _, id := range append(list, once) {
		friend.drop(id)
	}
	d.eventually("the successor ends", func() bool { return d.ended == 1 })
	friend.c.Close(0)
}

// A task that runs again for a lost result as its owner moves goes on for the successor.
func TestMove_TaskRunsAgainMeanwhile_TheSuccessorGetsItsResult(t *testing.T) {
	d := startDaemon(t)
	d.successors()
	again, gate := make(chan struct{}, 1), make(chan struct{})
	runs := 0 // of the one worker's program
	d.worker(func(c *Client, it *Item) {
		if runs++; runs == 2 {
			again <- struct{}{}
			<-gate
		}
		_ = c.Reply(it.Token, []Value{large("run " + string(rune('0'+runs)))}, 0)
	})
	owner, friend := d.member(t, wire.RoleWorker), d.member(t, wire.RoleDriver)
	id := results(t, owner.c, tasks(t, owner.c, "f", 1, 1), 1, "x")[0]
	owner.refs[id] = 1
	owner.give(t, id, friend)
	d.loses(id)
	owner.c.mu.Lock()
	owner.c.table.Missed(owner.c.table.Find(id))
	owner.c.table.CarryOut()
	owner.c.mu.Unlock()
	<-again
	if err := owner.c.Exiting("test"); err != nil {
		t.Fatal(err)
	}
	owner.vanish()
	close(gate)
	friend.check(t, id, "run 2")
	friend.c.unpinUnused()
	d.loses(id) // it has used its one retry
	if f, err := friend.c.Get(id, testLimit); err != nil || !f.IsError || !strings.Contains(string(f.Envelope), "the maximum number of task retries has been exceeded") {
		t.Errorf("after the second loss: %v, %v", f, err)
	}
	friend.drop(id)
	d.eventually("the successor ends", func() bool { return d.ended == 1 })
	friend.c.Close(0)
}
