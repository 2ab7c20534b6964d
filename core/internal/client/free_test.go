package client

import (
	"bytes"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// borrowed makes a value of one driver that another one borrows.
func borrowed(t *testing.T, owner, borrower *Client, size int) ids.Object {
	t.Helper()
	id := putBytes(t, owner, size, 1)
	addr, err := owner.Export(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := borrower.Import(id, addr, 0); err != nil {
		t.Fatal(err)
	}
	holdsBytes(t, borrower, id, size, 1)
	return id
}

// frees waits until the store has freed an object.
func (d *fakeDaemon) frees(id ids.Object) {
	d.t.Helper()
	d.eventually("the store frees the object", func() bool { return d.freed[string(id[:])] })
}

// Whoever frees an object, its owner and who borrows it are told then that it was freed.
func TestFree_ByOwnerOrBorrower_BothAreTold(t *testing.T) {
	for what, size := range map[string]int{"a small value": 10, "a value in the store": 2 * MaxInline} {
		for _, byOwner := range []bool{true, false} {
			d := startDaemon(t)
			owner, borrower := d.driver(), d.driver()
			id := borrowed(t, owner, borrower, size)
			who := borrower
			if byOwner {
				who = owner
			}
			kept := make(chan struct{}, 1)
			if err := owner.Keep(id, func() { kept <- struct{}{} }); err != nil {
				t.Fatal(err)
			}
			if err := who.Free([]ids.Object{id}); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			expectOutcome(t, owner, what+": its owner", id, "", fault.ObjectFreed)
			if size > MaxInline {
				d.frees(id)
			}
			if !byOwner {
				expectOutcome(t, borrower, what+": who freed it", id, "", fault.ObjectFreed)
			}
			<-kept
			late := d.driver()
			addr, err := owner.Export(id)
			if err != nil {
				t.Fatal(err)
			}
			if err := late.Import(id, addr, 0); err != nil {
				t.Fatal(err)
			}
			expectOutcome(t, late, what+": who gets it later", id, "", fault.ObjectFreed)
		}
	}
}

// What is not ready stays as it is, and so does the reference that counts an actor's handles.
func TestFree_NotReady_StaysAsItIs(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	list, objs := inStates(c, "pr")
	if err := c.Free(list); err != nil {
		t.Fatal(err)
	}
	completeAll(c, objs[0])
	if f, err := c.Get(list[0], testLimit); err != nil || f.IsError {
		t.Errorf("an object that became ready after it was to be freed: %+v, %v", f, err)
	}
	expectOutcome(t, c, "the ready one", list[1], "", fault.ObjectFreed)
	unknown := ids.NewObject(999, ids.Owner{1}, c.info.Job, 0)
	if err := c.Free([]ids.Object{unknown}); err == nil {
		t.Error("an object that nobody here knows is freed")
	}
	c.mu.Lock()
	token := c.table.Find(list[0])
	c.table.MakeToken(token, &submit.Actor{})
	c.table.FreeValue(token)
	if token.State() != refs.Inline {
		t.Errorf("the token of an actor is in state %v", token.State())
	}
	c.table.EndToken(token)
	c.mu.Unlock()
	c.Close(0)
	for range 2 { // the lock is free again
		if err := c.Free(list); fault.CodeOf(err) != fault.Closed {
			t.Errorf("in a session that has ended: %v", err)
		}
	}
}

// A value that is computed anew when it is lost is not when it was freed.
func TestFree_ResultOfATask_IsNotComputedAgain(t *testing.T) {
	d := startDaemon(t)
	m := new(made)
	d.makes(m)
	c := d.driver()
	ref := results(t, c, tasks(t, c, "f", 1, 3), 1, "x")[0]
	if f, err := c.Get(ref, testLimit); err != nil || f.IsError {
		t.Fatal(f, err)
	}
	if err := c.Free([]ids.Object{ref}); err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, c, "the result", ref, "", fault.ObjectFreed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.table.Find(ref); o.Recipe() != nil {
		t.Error("the freed result can still be computed")
	}
}

// An owner that is asked to free, or to lose, something else than its own objects leaves that alone.
func TestFreeing_ForeignOrMalformedIDs_AreLeftAlone(t *testing.T) {
	d := startDaemon(t)
	owner, borrower := d.driver(), d.driver()
	id := borrowed(t, owner, borrower, 2*MaxInline)
	unknown := ids.NewObject(999, ids.Owner{1}, owner.info.Job, 0)
	for _, lose := range []bool{false, true} {
		q := wire.RefFree{ObjectIDs: [][]byte{[]byte("short"), unknown[:], id[:]}, Lose: lose}
		heard := make(chan error, 1)
		owner.mu.Lock()
		owner.links.To(borrower.info.Addr).Do(func(p *wire.Peer, err error) {
			if err != nil {
				heard <- err
				return
			}
			p.Go(wire.TRefFree, q, func(_ *wire.Message, err error) { heard <- err })
		})
		owner.mu.Unlock()
		if err := <-heard; err != nil {
			t.Fatal(err)
		}
	}
	holdsBytes(t, borrower, id, 2*MaxInline, 1)
	holdsBytes(t, owner, id, 2*MaxInline, 1)
}

// When the store is to forget its copy, the owner frees it, whoever asks: the borrower's and the owner's own
// holds that nobody looks through are given up. It succeeds when the store says that it has none.
func TestLose_ByOwnerOrBorrower_TheStoreForgetsIt(t *testing.T) {
	for _, byOwner := range []bool{true, false} {
		d := startDaemon(t)
		owner, borrower := d.driver(), d.driver()
		id := borrowed(t, owner, borrower, 2*MaxInline)
		who := borrower
		if byOwner {
			who = owner
		}
		checks := 0
		d.answers(wire.TObjCheck, func(m *wire.Message) bool {
			var q wire.ObjRefs
			var lacks wire.ObjMissing
			_ = m.Decode(&q)
			checks++
			if d.freed[string(id[:])] && checks > 2 { // it may lie there for a moment
				lacks.ObjectIDs = q.ObjectIDs
			}
			_ = m.Reply(lacks)
			return true
		})
		if lost, err := who.Lose(id); !lost || err != nil {
			t.Errorf("asked by the owner %v: lost is %v, %v", byOwner, lost, err)
		}
		d.frees(id)
		who.mu.Lock()
		if o := who.table.Find(id); o != nil && o.Copy() != nil {
			t.Errorf("asked by the owner %v: a process keeps the lost copy for its next get", byOwner)
		}
		who.mu.Unlock()
		unknown := ids.NewObject(999, ids.Owner{1}, owner.info.Job, 0)
		for range 2 {
			if lost, err := who.Lose(unknown); lost || err == nil {
				t.Errorf("an unknown object: lost is %v, %v", lost, err)
			}
		}
	}
}

// A store that does not answer, or an owner that has ended, does not hold the question up.
func TestLose_OwnerHasEnded_IsAnswered(t *testing.T) {
	d := startDaemon(t)
	owner, borrower := d.driver(), d.driver()
	id := borrowed(t, owner, borrower, 2*MaxInline)
	owner.Close(0)
	d.answers(wire.TObjCheck, func(m *wire.Message) bool {
		var q wire.ObjRefs
		_ = m.Decode(&q)
		if len(q.ObjectIDs) != 1 || !bytes.Equal(q.ObjectIDs[0], id[:]) {
			t.Errorf("the store is asked about %x", q.ObjectIDs)
		}
		_ = m.Reply(wire.ObjMissing{ObjectIDs: q.ObjectIDs})
		return true
	})
	if lost, err := borrower.Lose(id); !lost || err != nil {
		t.Errorf("the owner has ended: lost is %v, %v", lost, err)
	}
	if err := borrower.Free([]ids.Object{id}); err != nil {
		t.Errorf("freed after its owner's end: %v", err)
	}
	d.answers(wire.TObjCheck, func(m *wire.Message) bool {
		_ = m.Fail(fault.New(fault.Internal, "no"))
		return true
	})
	if lost, err := borrower.Lose(id); lost || err == nil {
		t.Errorf("the store fails: lost is %v, %v", lost, err)
	}
}
