package client

import (
	"errors"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
)

// A task whose result was lost runs again, here too. Each answer has a number, and the confirmation of one
// answer lets go of nothing that another one refers to.
func TestConfirmed_TwoRunsOfOneTask_LetsGoOfItsOwnOnly(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	var caller ids.Owner
	results := make([]ids.Object, 3)
	for i := range results {
		results[i] = putBytes(t, c, 10, byte(i))
	}
	var answers []uint64
	c.mu.Lock()
	for _, run := range [][]ids.Object{results[:2], results[2:]} {
		var list []*refs.Object
		for _, id := range run {
			o := c.table.Find(id)
			c.table.Pin(o)
			list = append(list, o)
		}
		answers = append(answers, c.table.HoldResult(refs.TaskSocket{Caller: caller}, list))
	}
	c.mu.Unlock()
	for _, id := range results {
		c.Release(Drop{Object: id})
	}
	there := func() (n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.TakeDrops()
		for _, id := range results {
			if c.table.Find(id) != nil {
				n++
			}
		}
		return n
	}
	if n := there(); n != 3 {
		t.Fatalf("%d objects are there before a confirmation, want 3", n)
	}
	slices.Reverse(answers) // that of the second run comes first
	for i, want := range []int{2, 0} {
		c.mu.Lock()
		c.table.Confirmed(caller, answers[i])
		c.mu.Unlock()
		if n := there(); n != want {
			t.Errorf("after the confirmation of answer %d there are %d objects, want %d", answers[i], n, want)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.table.Unconfirmed() {
		t.Error("a caller is kept that has nothing to confirm")
	}
}

// keepsNone is an actor's method that returns a reference to a new object, which the actor does not keep.
func keepsNone(c *Client, it *Item) {
	id, err := c.Put(text("inside"))
	if err != nil {
		panic(err)
	}
	v := text(textOf(it))
	v.Nested = []ids.Object{id}
	_ = c.Reply(it.Token, []Value{*v}, 0)
	c.Release(Drop{Object: id})
}

// breaksSocket ends a process's socket to an actor, as if it had broken: nothing that came is read any more. The session's mutex is held.
func breaksSocket(t *testing.T, c *Client, id ids.Actor) {
	t.Helper()
	o := c.submit.Actors[id].Channel
	if o == nil {
		t.Fatal("the process has no socket to the actor")
	}
	o.Close()
	o.Gone(errors.New("the socket broke"))
}

// The task socket to an actor breaks with an answer in it that its caller never reads, and both processes live on. The
// actor lets go of what the answer refers to, while the caller goes on calling it.
func TestUnread_TaskSocketBreaksWithAnAnswerInIt_TheActorLetsGo(t *testing.T) {
	d := startDaemon(t)
	run := make(chan struct{})
	a := d.act(0, func(_ uint64, c *Client, it *Item) {
		if textOf(it) == "lost" {
			<-run
		}
		keepsNone(c, it)
	})
	a.lives = true
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	m := method(t, c, 0)
	read := callActor(t, c, id, m, "read")
	expectOutcome(t, c, "the call that is read", read, "read", "")
	isEmpty(t, a.worker, "held")
	lost := callActor(t, c, id, m, "lost")
	waitFor(t, "the call was sent", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Sent == 1
	})
	func() {
		c.mu.Lock() // so that nothing is read
		defer c.mu.Unlock()
		close(run)
		waitFor(t, "the answer was sent", func() bool { return a.worker.Footprint(false)["n_held"] == 1 })
		breaksSocket(t, c, id)
	}()
	isEmpty(t, a.worker, "held", "exec_calls")
	expectOutcome(t, c, "a call on a new socket", callActor(t, c, id, m, "again"), "again", "")
	_, _ = outcome(t, c, lost)
}

// The worker's process hands over with an answer that its caller has not confirmed. The successor asks the caller,
// which reads nothing more from the socket that ended with the worker.
func TestUnread_WorkerHandsOver_TheSuccessorAsksTheCaller(t *testing.T) {
	for what, reads := range map[string]bool{"the caller still reads": true, "the caller reads no more": false} {
		d := startDaemon(t)
		c := d.driver()
		c.mu.Lock()
		if reads {
			c.submit.Leases[7] = new(submit.Lease)
		}
		c.mu.Unlock()
		w := d.worker(echo)
		_, there := holdsFor(t, w, c.self, c.info.Addr)
		w.mu.Lock()
		s := w.table.Snapshot(&w.sites)
		next := w.newTable()
		err := next.Restore(s, &w.sites)
		if err == nil {
			w.table = next
			w.borrows.Join(next)
			err = next.RestoreHeld(s)
		}
		w.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if reads {
			if !there() {
				t.Errorf("%s: the object is let go of", what)
			}
			c.mu.Lock()
			delete(c.submit.Leases, 7)
			c.mu.Unlock()
		}
		waitFor(t, what+": the object is let go of", func() bool { return !there() })
	}
}
