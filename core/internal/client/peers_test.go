package client

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// peerTo is a connection of one process to another.
func peerTo(t *testing.T, from, to *Client) *wire.Peer {
	t.Helper()
	got := make(chan *wire.Peer, 1)
	from.mu.Lock()
	from.links.To(to.info.Addr).Do(func(p *wire.Peer, err error) {
		if err != nil {
			t.Error(err)
		}
		got <- p
	})
	from.mu.Unlock()
	return <-got
}

// What another process says of an object that is gone, or that is not ours, changes nothing. A malformed id
// is an error, and the others of the same message count all the same.
func TestFromPeer_BorrowAndReturn_OnlyOfWhatIsOurs(t *testing.T) {
	d := startDaemon(t)
	c, other := d.driver(), d.driver()
	id, err := c.Put(&Value{Fmt: FmtNone})
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	o := c.table.Find(id)
	theirs := c.table.Borrow(ids.NewObject(4, ids.Owner{9}, c.info.Job, 1), "its owner")
	c.table.PinHere(theirs)
	gone := ids.NewObject(99, c.self, c.info.Job, 1)
	c.mu.Unlock()
	p := peerTo(t, other, c)
	borrowers := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		if theirs.Borrowers() != 0 {
			t.Error("what another process owns is lent")
		}
		return o.Borrowers()
	}
	for _, x := range []struct {
		what string
		kind wire.Type
		ids  [][]byte
		want int
		code fault.Code
	}{
		{"it borrows", wire.TRefBorrow, [][]byte{gone.Raw(), theirs.ID.Raw(), id.Raw()}, 1, ""},
		{"it returns what is not lent", wire.TRefReturn, [][]byte{gone.Raw(), theirs.ID.Raw()}, 1, ""},
		{"it returns", wire.TRefReturn, [][]byte{id.Raw()}, 0, ""},
		{"it borrows beside something malformed", wire.TRefBorrow, [][]byte{[]byte("x"), id.Raw()}, 1, fault.BadRequest},
		{"it returns beside something malformed", wire.TRefReturn, [][]byte{[]byte("x"), id.Raw()}, 0, fault.BadRequest},
	} {
		err := p.Call(t.Context(), x.kind, wire.ObjRefs{ObjectIDs: x.ids}, nil)
		if got := borrowers(); got != x.want || fault.CodeOf(err) != x.code && (err != nil || x.code != "") {
			t.Errorf("%s: %d borrow it, %v", x.what, got, err)
		}
	}
}

// A process that says what is for a daemon, or asks for what is no object, is told so.
func TestFromPeer_NotForAProcess_IsRefused(t *testing.T) {
	d := startDaemon(t)
	c, other := d.driver(), d.driver()
	p := peerTo(t, other, c)
	if err := p.Call(t.Context(), wire.TObjStats, nil, nil); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "a process does not serve") {
		t.Errorf("%v", err)
	}
	if err := p.Call(t.Context(), wire.TRefWait, wire.RefWait{ObjectID: []byte("x")}, nil); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("%v", err)
	}
	gone := ids.NewObject(99, c.self, c.info.Job, 1)
	if err := p.Call(t.Context(), wire.TRefWait, wire.RefWait{ObjectID: gone[:]}, nil); err == nil || fault.CodeOf(err) == fault.BadRequest {
		t.Errorf("an object that is gone: %v", err)
	}
	if err := p.Call(t.Context(), wire.TRefBorrow, "no list", nil); err == nil {
		t.Error("a malformed message is taken")
	}
}

// Who asks whether all references are registered hears so when no registration is open.
func TestFromPeer_Registered_OnlyWhenNothingIsOpen(t *testing.T) {
	d := startDaemon(t)
	c, other := d.driver(), d.driver()
	p := peerTo(t, other, c)
	for _, open := range []int{0, 1, 0} {
		c.mu.Lock()
		c.table.Registering(open - c.table.Unregistered())
		c.mu.Unlock()
		var yes bool
		if err := p.Call(t.Context(), wire.TRegistered, nil, &yes); err != nil || yes != (open == 0) {
			t.Errorf("with %d open: %v, %v", open, yes, err)
		}
	}
}

// A borrower that asks for an object which goes before it is ready is answered that it is gone: else the question
// stayed with the borrower for as long as both processes live.
func TestServeWait_ObjectGoes_BorrowerIsTold(t *testing.T) {
	for _, patient := range []bool{false, true} {
		d := startDaemon(t)
		c, other := d.driver(), d.driver()
		p := peerTo(t, other, c)
		c.mu.Lock()
		o := c.table.New(1, 1)
		c.mu.Unlock()
		answer := make(chan error, 1)
		p.Go(wire.TRefWait, wire.RefWait{ObjectID: o.ID.Raw(), Infeasible: patient}, func(_ *wire.Message, err error) { answer <- err })
		waitFor(t, "the question waits", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(o.Questions())+len(o.PatientQuestions()) == 1
		})
		c.Release(Drop{Object: o.ID})
		select {
		case err := <-answer:
			if fault.CodeOf(err) != fault.LostBorrowed {
				t.Errorf("patient %v: the borrower is told %v", patient, err)
			}
		case <-time.After(testLimit):
			t.Fatalf("patient %v: the borrower is never answered", patient)
		}
	}
}

// A borrower that waits is answered when the object is ready; one that could not read the copy has it looked for.
func TestServeWait_ReadyOrLost(t *testing.T) {
	d := startDaemon(t)
	_, release := d.holdChecks()
	defer release()
	c, other := d.driver(), d.driver()
	p := peerTo(t, other, c)
	c.mu.Lock()
	o := c.table.New(1, 1)
	c.mu.Unlock()
	answers := make(chan error, 2)
	ask := func(lost bool) {
		p.Go(wire.TRefWait, wire.RefWait{ObjectID: o.ID.Raw(), Lost: lost}, func(_ *wire.Message, err error) { answers <- err })
	}
	questions := func(want int) {
		t.Helper()
		waitFor(t, "the question waits", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(o.Questions()) == want
		})
	}
	ask(false)
	questions(1)
	c.mu.Lock()
	c.table.Complete(o, refs.Stored, nil, 9, false)
	c.mu.Unlock()
	if err := <-answers; err != nil {
		t.Error(err)
	}
	ask(false)
	if err := <-answers; err != nil {
		t.Error(err)
	}
	ask(true)
	questions(1)
	c.mu.Lock()
	if !o.Verifying() {
		t.Errorf("a copy that could not be read is not verified: state %d", o.State())
	}
	c.table.Complete(o, refs.Inline, inlineText("x"), 3, false)
	c.mu.Unlock()
	if err := <-answers; err != nil {
		t.Error(err)
	}
}

// What waits to share a write has left the process when FlushOnExit returns; a session that has ended has nothing to send.
func TestFlushOnExit_WhatWaits_IsSent(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	p := callsInto(t, w, wire.RoleActor, nil)
	p.send(templateOf(3, nil), callOf(1, 3, "x"))
	it := takes(t, w)
	w.mu.Lock()
	in := w.exec.Call(it.Token).Caller.Pipe()
	in.Queue(frame.AppendHold(in.Buffer(), "group", false))
	if in.Unsent() == 0 {
		t.Error("nothing waits")
	}
	w.mu.Unlock()
	w.FlushOnExit()
	w.mu.Lock()
	if n := in.Unsent(); n != 0 {
		t.Errorf("%d bytes still wait", n)
	}
	w.mu.Unlock()
	answers(t, w, it, "y")
	w.Close(0)
	w.FlushOnExit()
}
