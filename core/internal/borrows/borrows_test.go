package borrows

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A reference is registered with its owner, and the answer has the program's drops taken. An owner that cannot be
// reached counts as registered, too: it keeps nothing.
func TestBorrow_OwnerAnswersOrIsGone_IsRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		heard := make(chan wire.ObjRefs, 1)
		p.others["/there"] = func(m *wire.Message) {
			var q wire.ObjRefs
			if err := m.Decode(&q); err != nil || m.Type != wire.TRefBorrow {
				t.Errorf("the owner hears %s, %v", m.Type, err)
			}
			heard <- q
			_ = m.Reply(nil)
		}
		p.mu.Lock()
		here := p.borrowed(1, "/there")
		p.mu.Unlock()
		if q := <-heard; len(q.ObjectIDs) != 1 || ids.Object(q.ObjectIDs[0]) != here.ID {
			t.Errorf("the owner hears of %x", q.ObjectIDs)
		}
		synctest.Wait()
		p.mu.Lock()
		if p.table.Unregistered() != 0 || p.drops != 1 {
			t.Errorf("%d are not registered, drops were taken %d times", p.table.Unregistered(), p.drops)
		}
		gone := p.borrowed(2, "/gone")
		p.mu.Unlock()
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.table.Unregistered() != 0 || p.drops != 2 || gone.State() != refs.Failed || gone.Fault().Code != fault.OwnerDied {
			t.Errorf("%d are not registered, drops were taken %d times, the reference is in state %v", p.table.Unregistered(), p.drops, gone.State())
		}
	})
}

// An owner that is asked for a value answers with it, or says what is wrong; one that breaks off has ended.
func TestAsk_EachAnswer_SettlesTheReference(t *testing.T) {
	for what, x := range map[string]struct {
		answer func(m *wire.Message)
		state  refs.State
		code   fault.Code
	}{
		"a value":          {func(m *wire.Message) { _ = m.Reply(wire.RefValue{Inline: []byte("value"), Size: 5}) }, refs.Inline, ""},
		"a fault":          {func(m *wire.Message) { _ = m.Fail(fault.New(fault.ObjectFreed, "freed")) }, refs.Failed, fault.ObjectFreed},
		"it breaks off":    {func(m *wire.Message) { m.Peer().Close() }, refs.Failed, fault.OwnerDied},
		"it cannot answer": {func(m *wire.Message) { _ = m.Fail(errors.New("what is that")) }, refs.Failed, fault.OwnerDied},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newProcess(t)
			p.others["/there"] = func(m *wire.Message) {
				if m.Type == wire.TRefWait {
					x.answer(m)
					return
				}
				_ = m.Reply(nil)
			}
			p.mu.Lock()
			o := p.borrowed(1, "/there")
			p.table.Ask(o, false)
			p.mu.Unlock()
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if o.State() != x.state || x.code != "" && o.Fault().Code != x.code {
				t.Errorf("%s: the reference is in state %v, %v", what, o.State(), o.Fault())
			}
		})
	}
}

// What comes after the session's end changes nothing.
func TestEnd_WhatComesLater_ChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		questions := make(chan *wire.Message, 1)
		p.others["/there"] = func(m *wire.Message) {
			if m.Type == wire.TRefWait {
				questions <- m
				return
			}
			_ = m.Reply(nil)
		}
		who := ids.Owner{7}
		p.mu.Lock()
		o, mine := p.borrowed(1, "/there"), p.table.New(0, 1)
		p.table.Ask(o, false)
		p.table.AddBorrower(mine, who)
		p.mu.Unlock()
		q := <-questions
		p.mu.Lock()
		p.m.End()
		p.m.Lost("/there")
		p.m.Left(who)
		p.m.CallerLeft(refs.TaskSocket{Caller: who, Addr: "/there"})
		p.mu.Unlock()
		_ = q.Reply(wire.RefValue{Inline: []byte("value"), Size: 5})
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if o.State() != refs.Pending || mine.Borrowers() != 1 {
			t.Errorf("the reference is in state %v, %d processes hold the other one", o.State(), mine.Borrowers())
		}
	})
}

// An answer waits a moment for references that are not registered yet. When an owner
// is late, the answers after that do not wait for it.
func TestAwaitRegistered_OwnerAnswersInTimeOrNot_IsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		p.mu.Lock()
		defer p.mu.Unlock()
		took := func(want bool, limit time.Duration) {
			t.Helper()
			began := time.Now()
			if got := p.m.AwaitRegistered(); got != want || time.Since(began) != limit {
				t.Errorf("registered is %v after %v, want %v after %v", got, time.Since(began), want, limit)
			}
			if n := p.table.AwaitingRegistered(); n != 0 {
				t.Errorf("%d waits are left", n)
			}
		}
		took(true, 0)
		p.table.Registering(1)
		took(false, ackPatience)
		if !p.table.OwnerLate() {
			t.Error("the owner is not late")
		}
		took(false, 0)
		p.table.Registered(1)
		took(true, 0)
		p.table.Registering(1)
		time.AfterFunc(ackPatience/2, func() { p.m.event(func(table *refs.Table) { table.Registered(1) }) })
		took(true, ackPatience/2)
		if p.table.OwnerLate() {
			t.Error("an owner that answered in time is late")
		}
	})
}

// A worker is asked again until all it keeps is registered; one that has ended, or does not know, keeps nothing.
func TestAskRegistered_UntilTheWorkerSaysYes_ArgumentsStay(t *testing.T) {
	for what, x := range map[string]struct {
		answers func(asked int, m *wire.Message)
		asked   int
	}{
		"the third answer is yes": {func(asked int, m *wire.Message) { _ = m.Reply(asked == 3) }, 3},
		"it does not know":        {func(_ int, m *wire.Message) { _ = m.Fail(errors.New("what is that")) }, 1},
		"it has ended":            {nil, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newProcess(t)
			asked := make(chan int, 10)
			n := 0
			if x.answers != nil {
				p.others["/worker"] = func(m *wire.Message) {
					n++
					asked <- n
					x.answers(n, m)
				}
			}
			p.mu.Lock()
			o := p.table.New(0, 1)
			p.table.Pin(o)
			p.table.Retain("/worker", []*refs.Object{o})
			p.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(asked) != x.asked || len(p.table.Retained()) != 0 {
				t.Errorf("%s: it was asked %d times, %d calls are retained", what, len(asked), len(p.table.Retained()))
			}
		})
	}
}

// The caller of a task socket that broke is asked again until it has read what it will ever read. One
// that has ended, or does not know, reads nothing. Nobody is asked when the receipt has come meanwhile.
func TestAskRead_UntilTheCallerSaysYes_TheAnswerIsHeld(t *testing.T) {
	for what, x := range map[string]struct {
		answers func(asked int, m *wire.Message)
		receipt bool
		asked   int
	}{
		"the third answer is yes":    {func(asked int, m *wire.Message) { _ = m.Reply(asked == 3) }, false, 3},
		"it does not know":           {func(_ int, m *wire.Message) { _ = m.Fail(errors.New("what is that")) }, false, 1},
		"it has ended":               {nil, false, 0},
		"the receipt was on its way": {func(_ int, m *wire.Message) { _ = m.Reply(false) }, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newProcess(t)
			socket := refs.TaskSocket{Caller: ids.Owner{7}, Addr: "/caller", Actor: true, Number: 1 << 31}
			asked := make(chan wire.AnswersRead, 10)
			n := 0
			if x.answers != nil {
				p.others["/caller"] = func(m *wire.Message) {
					var q wire.AnswersRead
					if err := m.Decode(&q); err != nil || m.Type != wire.TAnswersRead {
						t.Errorf("%s: the caller hears %s, %v", what, m.Type, err)
					}
					n++
					asked <- q
					x.answers(n, m)
				}
			}
			p.mu.Lock()
			o := p.table.New(0, 1)
			p.table.Pin(o)
			held := p.table.HoldResult(socket, []*refs.Object{o})
			p.m.CallerLeft(socket)
			p.mu.Unlock()
			if x.receipt {
				if _, err := p.asks(ids.Owner{7}, wire.TReceived, wire.Received{Answer: held}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(asked) != x.asked || p.table.Unconfirmed() {
				t.Errorf("%s: it was asked %d times, an answer is held: %v", what, len(asked), p.table.Unconfirmed())
			}
			for range x.asked {
				if q := <-asked; !q.Actor || q.Number != 1<<31 {
					t.Errorf("%s: it was asked about %+v", what, q)
				}
			}
		})
	}
}

// A caller has read all when it reads no more from the socket and all that it got is registered.
func TestHear_AnswersRead_YesWhenTheSocketIsClosedAndAllIsRegistered(t *testing.T) {
	p := newProcess(t)
	for _, x := range []struct {
		reads        bool
		unregistered int
		want         bool
	}{{true, 0, false}, {false, 1, false}, {false, 0, true}} {
		p.mu.Lock()
		p.reads = map[uint64]bool{5: x.reads}
		p.table.Registering(x.unregistered)
		p.mu.Unlock()
		reply, err := p.asks(ids.Owner{7}, wire.TAnswersRead, wire.AnswersRead{Number: 5})
		var yes bool
		if err != nil || reply.Decode(&yes) != nil || yes != x.want {
			t.Errorf("it reads %v, %d are not registered: it says %v, %v", x.reads, x.unregistered, yes, err)
		}
		p.mu.Lock()
		p.table.Registered(x.unregistered)
		p.mu.Unlock()
	}
}

// Messages that are malformed, or of another kind, are errors, and change nothing.
func TestHear_MalformedOrUnknown_IsRefused(t *testing.T) {
	p := newProcess(t)
	for _, kind := range []wire.Type{wire.TRefWait, wire.TRefBorrow, wire.TRefReturn, wire.TRefFree, wire.TReceived, wire.TAnswersRead} {
		if _, err := p.asks(ids.Owner{7}, kind, 7); err == nil {
			t.Errorf("%s with a number is taken", kind)
		}
	}
	if _, err := p.asks(ids.Owner{7}, wire.TObjCheck, nil); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a message for the daemon: %v", err)
	}
	reply, err := p.asks(ids.Owner{7}, wire.TRegistered, nil)
	var yes bool
	if err != nil || reply.Decode(&yes) != nil || !yes {
		t.Errorf("all is registered: %v, %v", yes, err)
	}
}

// A borrower that holds a reference of ours keeps its value until it gives that back, or leaves.
func TestHear_BorrowerReturnsOrLeaves_ItsReferencesGo(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		p := newProcess(t)
		who := ids.Owner{7}
		p.mu.Lock()
		o := p.table.New(0, 1)
		p.mu.Unlock()
		list := wire.ObjRefs{ObjectIDs: [][]byte{o.ID[:]}}
		if _, err := p.asks(who, wire.TRefBorrow, list); err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		p.table.Unref(o, 1)
		p.table.CarryOut()
		owned, _ := p.table.Len()
		if owned != 1 {
			t.Error("a value that a borrower holds has gone")
		}
		if leaves {
			p.m.Left(who)
		}
		p.mu.Unlock()
		if !leaves {
			if _, err := p.asks(who, wire.TRefReturn, list); err != nil {
				t.Fatal(err)
			}
		}
		p.mu.Lock()
		if owned, _ := p.table.Len(); owned != 0 {
			t.Errorf("the borrower leaves %v: its reference stays", leaves)
		}
		p.mu.Unlock()
	}
}
