package headgroup

import (
	"context"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// looks makes a leader's steps while it leads. All others answer it.
func (s *seat) looks(ctx context.Context, others []linkmsg.HeadAt) {
	for ctx.Err() == nil {
		r, err := s.state.Lead(ctx)
		if err != nil {
			return
		}
		n := newSeen(s.group, r)
		s.group.setSeen(n)
		for led := true; led; {
			stored, _ := r.Indexes()
			for _, at := range others {
				if at.ID != s.group.o.ID {
					n.end(at.ID, &linkmsg.Member{Stored: stored}, 0)
				}
			}
			n.step(ctx)
			select {
			case <-time.After(20 * time.Millisecond):
			case <-r.Ended():
				led = false
			case <-ctx.Done():
				return
			}
		}
	}
}

// Of two heads, the one that leads and has the only vote is removed: the other one gets a vote, leads, removes it and goes on alone. The removed one gives its vote until then, and only then it ends.
func TestRemove_HeadWithTheOnlyVote_TheOtherOneGoesOnAlone(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	seats := threeSeats(t)
	r := reign(t, seats, "")
	first := seats[r.Member().Self()]
	all, _ := first.group.o.Book.List()
	var second *seat
	var two []linkmsg.HeadAt
	for _, at := range all {
		switch s := seats[at.ID]; {
		case s != first && second == nil:
			second = s
		case s != first:
			if err := r.Remove(ctx, at.ID); err != nil {
				t.Fatal(err)
			}
			continue
		}
		two = append(two, at)
	}
	if err := r.Demote(ctx, second.group.o.ID); err != nil {
		t.Fatal(err)
	}
	for _, at := range two {
		e := Entry{HeadAt: at}
		b, err := e.Encode()
		if err == nil {
			err = r.PutSetting(ctx, SettingOf(at.ID), b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	revoked := make(chan uint32, 10)
	working, end := context.WithCancel(ctx)
	for _, s := range []*seat{first, second} {
		s.group.o.Revoke = func(_ context.Context, number uint32) error { revoked <- number; return nil }
		s.group.whole.Store(true)
		s.group.goWork(s.group.follow)
		s.group.goWork(func() { s.looks(working, two) })
	}
	t.Cleanup(end)
	for first.group.seenNow() == nil {
		time.Sleep(time.Millisecond)
	}
	number := first.group.o.Number
	for done := false; !done; {
		var err error
		if done, err = first.group.Change(ctx, linkmsg.HeadRemove, number, true); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-first.group.Removed():
	case <-ctx.Done():
		t.Fatalf("the head was not removed: members %+v", second.state.Members())
	}
	select {
	case <-second.group.Removed():
		t.Error("the head that stays is removed")
	default:
	}
	last, err := second.state.Lead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if m := last.Members(); len(m) != 1 || !m[0].Voter || m[0].ID != second.group.o.ID {
		t.Errorf("the members are %+v", m)
	}
	first.part()
	if err := last.PutSetting(ctx, "after", []byte("1")); err != nil {
		t.Errorf("the head that stays cannot change anything alone: %v", err)
	}
	select {
	case n := <-revoked:
		if n != number {
			t.Errorf("head %d is revoked", n)
		}
	case <-ctx.Done():
		t.Fatal("the removed head is not revoked")
	}
	for { // and then it is forgotten
		if _, known := second.group.o.Book.Number(first.group.o.ID); !known {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the removed head stays in the book")
		}
		time.Sleep(time.Millisecond)
	}
}

// A removal that the heads that stay could not carry out is refused and changes nothing. One of three that is silent can go first, and then the other one.
func TestRemove_HeadsThatStayCouldDoNothing_IsRefused(t *testing.T) {
	s, others := leadsThree(t)
	stored, _ := s.r.Indexes()
	s.end(others[0].ID, &linkmsg.Member{Stored: stored}, 0)
	s.begun = time.Now().Add(-time.Hour)
	here, _ := s.g.o.Book.Number(s.g.o.ID)
	for _, number := range []uint32{others[0].Number, here} {
		if done, err := s.g.Change(t.Context(), linkmsg.HeadRemove, number, true); err == nil || done {
			t.Errorf("with one of three silent, head %d was removed", number)
		} else {
			t.Log(err)
		}
	}
	for _, e := range Entries(s.g.state) {
		if e.Removed {
			t.Errorf("head %d is being removed", e.Number)
		}
	}
	for _, at := range []linkmsg.HeadAt{others[1], others[0]} {
		if done, err := s.g.Change(t.Context(), linkmsg.HeadRemove, at.Number, true); err != nil || !done {
			t.Errorf("head %d: %v %v", at.Number, done, err)
		}
	}
	if done, err := s.g.Change(t.Context(), linkmsg.HeadRemove, others[0].Number, true); err != nil || !done {
		t.Errorf("once more: %v %v", done, err)
	}
	if _, err := s.g.Change(t.Context(), linkmsg.HeadVote, others[0].Number, true); err == nil {
		t.Error("a head that is being removed was given a vote")
	}
}

// A head that is cut off while it is removed hears from another head that the cluster has it no more. It believes that only if its own state says that it was to be removed.
func TestForgotten_OnlyAHeadThatIsBeingRemoved_Ends(t *testing.T) {
	s, _ := leadsThree(t)
	g := s.g
	ended := func() bool {
		select {
		case <-g.Removed():
			return true
		default:
			return false
		}
	}
	g.whole.Store(true)
	g.Forgotten()
	if ended() {
		t.Fatal("a head that nobody removes has ended because another one does not know it")
	}
	e, _ := g.own()
	e.Removed = true
	if err := s.put(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	g.read()
	if ended() {
		t.Fatal("a head that is still a member has ended")
	}
	if _, known := g.o.Book.Number(g.o.ID); !known {
		t.Error("a head that is being removed is dialed no more")
	}
	g.Forgotten()
	if !ended() {
		t.Error("it does not end")
	}
}
