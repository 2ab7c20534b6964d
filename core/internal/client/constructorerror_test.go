package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/store"
)

func TestKeepRaised_AnothersActor_IsBorrowed(t *testing.T) {
	d := startDaemon(t)
	c, owner := d.driver(), d.driver()
	owner.mu.Lock()
	theirs := owner.table.New(0, 1)
	owner.table.Reserve(1)
	exception := owner.table.Place(theirs.ID.Count()+1, 1)
	owner.table.Ref(exception)
	owner.table.PutStored(exception, 0, false)
	owner.mu.Unlock()
	p := frame.Pointer{ID: exception.ID, Owner: owner.info.Addr, Size: 99}
	c.mu.Lock()
	token := c.table.Borrow(theirs.ID, owner.info.Addr)
	a := c.submit.OpenActor(ids.Actor{1}, "A", 0)
	if err := a.Restore(&snapshot.Actor{}, token); err != nil {
		t.Fatal(err)
	}
	a.Die(fault.New(fault.ActorDied, "it raised"), store.AppendEnvelope(nil, store.FormatElsewhere, frame.AppendPointer(nil, &p)))
	_, o := a.Exception()
	if o == nil || o.ID != exception.ID || o.OwnerAddr() != owner.info.Addr || o.Pins() != 1 || !o.Seen() {
		t.Fatalf("%+v is kept", o)
	}
	c.mu.Unlock()
	borrowers := func() (n int) {
		owner.mu.Lock()
		defer owner.mu.Unlock()
		return exception.Borrowers()
	}
	waitFor(t, "the owner knows that it is borrowed", func() bool { return borrowers() == 1 })
	c.mu.Lock()
	a.HandlesGone()
	c.table.CarryOut()
	c.mu.Unlock()
	waitFor(t, "the owner knows that it is not any more", func() bool { return borrowers() == 0 })
}
