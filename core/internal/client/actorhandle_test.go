package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// knowsActor reports whether a process knows an actor.
func knowsActor(c *Client, id ids.Actor) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.submit.Actors[id] != nil
}

// Each handle of an actor that another process counts is a reference to the actor's token. The last one that goes forgets the actor.
func TestOpenActor_CountedHandles_TheLastOneForgetsIt(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	c, other := d.driver(), d.driver()
	id := newActor(t, c, ActorSpec{})
	token, want := c.ActorToken(id), c.ActorTokenID(id)
	for i, text := range []string{token, token, ""} { // the third handle came by the actor's name
		got, err := other.OpenActor(id, text, "A", 0, 0)
		if err != nil || got != want {
			t.Fatalf("handle %d: token %s, %v, want %s", i, got, err, want)
		}
		other.mu.Lock()
		a := other.submit.Actors[id]
		if o := a.Token(); o.ID != want || o.State() != refs.Inline || o.Source() != a || int(o.Local()) != i+1 || a.Handles() != 0 {
			t.Errorf("after handle %d the token is in state %v with %d references, and %d handles do not count", i, o.State(), o.Local(), a.Handles())
		}
		other.mu.Unlock()
	}
	for i := range 3 {
		if !knowsActor(other, id) {
			t.Fatalf("the actor is forgotten when %d of 3 handles have gone", i)
		}
		other.Release(Drop{Object: want})
	}
	waitFor(t, "the process forgets the actor", func() bool { return !knowsActor(other, id) })
}

// A handle has no value that the program could free, whoever owns its token.
func TestFree_HandleOfAnothersActor_StaysAHandle(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	c, other := d.driver(), d.driver()
	id := newActor(t, c, ActorSpec{})
	token, err := other.OpenActor(id, c.ActorToken(id), "A", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Free([]ids.Object{token}); err != nil {
		t.Error(err)
	}
	other.mu.Lock()
	if o := other.table.Find(token); o.State() != refs.Inline || !o.IsToken() {
		t.Errorf("the token is in state %d, and is one: %v", o.State(), o.IsToken())
	}
	other.mu.Unlock()
}

// Handles that nobody counts end one by one. One that comes with a token later counts with them.
func TestOpenActor_UncountedHandles_TheLastOneForgetsIt(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	c, other := d.driver(), d.driver()
	id := newActor(t, c, ActorSpec{})
	for i, text := range []string{"", "", c.ActorToken(id)} {
		if got, err := other.OpenActor(id, text, "A", 0, 0); err != nil || got != (ids.Object{}) {
			t.Fatalf("handle %d: token %s, %v, want none", i, got, err)
		}
	}
	if other.ActorToken(id) != "" || other.ActorTokenID(id) != (ids.Object{}) {
		t.Error("an actor whose handles nobody counts has a token")
	}
	for i := range 3 {
		if !knowsActor(other, id) {
			t.Fatalf("the actor is forgotten when %d of 3 handles have gone", i)
		}
		other.CloseActor(id)
	}
	if knowsActor(other, id) {
		t.Error("the actor is known when all handles have gone")
	}
}

// What fails with the exception of another object keeps that object for the references inside it, and when somebody else owns it.
func TestFailAs_InlineException_KeepsTheObjectOnlyForReferences(t *testing.T) {
	c := startDaemon(t).driver()
	plain, outer, inner := putBytes(t, c, 10, 1), putBytes(t, c, 10, 1), putBytes(t, c, 10, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.table.Contain(c.table.Find(outer), c.table.Find(inner))
	foreign := c.table.Borrow(ids.NewObject(1, ids.Owner{9}, c.info.Job, 0), "/somewhere")
	c.table.Complete(foreign, refs.Inline, []byte("v"), 1, false)
	for what, x := range map[string]struct {
		from *refs.Object
		kept int
	}{
		"an object of its own":   {c.table.Find(plain), 0},
		"one with a reference":   {c.table.Find(outer), 1},
		"an object of another's": {foreign, 1},
	} {
		o := c.table.New(0, 1)
		c.table.FailAs(o, x.from)
		if !o.IsError() || string(o.Value()) != string(x.from.Value()) || len(o.Contained()) != x.kept {
			t.Errorf("%s: what fails has the value %q and keeps %d objects, want %d", what, o.Value(), len(o.Contained()), x.kept)
		}
	}
}

// A process that waits for its end looks again when a caller for which it holds something has ended.
func TestHeld_CallerEnded_WhoWaitsToEndLooksAgain(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(echo)
	caller, addr, _ := d.stranger()
	in, there := holdsFor(t, w, caller, addr)
	end := wait.New()
	w.mu.Lock()
	w.stays(end)
	w.mu.Unlock()
	breaks(w, in)
	d.eventually("the object is let go of", func() bool { return !there() })
	waitFor(t, "the process looks whether it can end", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return end.Over()
	})
}
