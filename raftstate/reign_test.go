package raftstate

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/record"
)

// reignOf returns the reign of the member that leads.
func reignOf(t *testing.T, members map[string]*Node) *Reign {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	found := make(chan *Reign, len(members))
	for _, n := range members {
		go func() {
			if r, err := n.Lead(ctx); err == nil {
				found <- r
			}
		}()
	}
	select {
	case r := <-found:
		return r
	case <-ctx.Done():
		t.Fatal("no member leads")
		return nil
	}
}

// closeLater closes a member with the test.
func closeLater(t *testing.T, n *Node) {
	t.Helper()
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
}

// eventually waits for something that other goroutines bring about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not so: ", what)
		}
	}
}

func openThree(t *testing.T) (*MemoryNet, map[string]*Node) {
	t.Helper()
	net := NewMemoryNet("a", "b", "c")
	members := map[string]*Node{}
	for _, id := range []string{"a", "b", "c"} {
		n, err := net.Open(id, Options{})
		if err != nil {
			t.Fatal(err)
		}
		closeLater(t, n)
		members[id] = n
	}
	return net, members
}

// A leader that was cut off, and that others have replaced, cannot change the state any more, also when it can reach them again.
func TestReign_Replaced_ItsDecisionsChangeNothing(t *testing.T) {
	net, members := openThree(t)
	old := reignOf(t, members)
	if err := old.PutSetting(t.Context(), "s", []byte("first")); err != nil {
		t.Fatal(err)
	}
	net.Cut(old.Self(), true)
	select {
	case <-old.Ended():
	case <-time.After(20 * time.Second):
		t.Fatal("a leader that is cut off leads on")
	}
	rest := map[string]*Node{}
	for id, n := range members {
		if id != old.Self() {
			rest[id] = n
		}
	}
	next := reignOf(t, rest)
	if next.Term() <= old.Term() {
		t.Errorf("term %d after %d", next.Term(), old.Term())
	}
	net.Cut(old.Self(), false)
	if err := old.Member().PutSetting(t.Context(), "s", []byte("second")); err != nil { // of no term: it goes to the new leader
		t.Fatal(err)
	}
	if err := old.PutSetting(t.Context(), "s", []byte("late")); !errors.Is(err, ErrDeposed) || errors.Is(err, record.ErrMayHaveBeenApplied) {
		t.Errorf("a decision of a leader that was replaced: %v", err)
	}
	if v, _ := old.Setting("s"); string(v) != "second" {
		t.Errorf("the setting is %q", v)
	}
}

// The entry of a former term changes nothing even when raft takes it.
func TestReign_EntryOfAFormerTerm_IsRefusedByTheMachine(t *testing.T) {
	n := openLone(t)
	r := reignOf(t, map[string]*Node{"a": n})
	stale := Changes{n: n, term: r.Term() + 1}
	data, err := encode(Command{Request: n.NewRequest(), Term: stale.term, Body: &SettingPut{"s", []byte("late")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.propose(t.Context(), data); !errors.Is(err, ErrDeposed) {
		t.Errorf("applied: %v", err)
	}
	if _, known := n.Setting("s"); known {
		t.Error("the setting is there")
	}
}

func TestReign_Fresh_ManyReadsShareCommits(t *testing.T) {
	_, members := openThree(t)
	r := reignOf(t, members)
	before, _ := r.Indexes()
	const reads = 500
	var all sync.WaitGroup
	for range reads {
		all.Go(func() {
			if err := r.Fresh(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if after, _ := r.Indexes(); after == before || after-before > reads/2 {
		t.Errorf("%d reads have cost %d commits", reads, after-before)
	}
	single := openLone(t)
	before, _ = single.Indexes()
	if err := single.Fresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, _ := single.Indexes(); after != before {
		t.Error("a member without others has committed something for a read")
	}
}

func TestReign_Members_AreAddedPromotedAndRemoved(t *testing.T) {
	net := NewMemoryNet("a")
	first, err := net.Open("a", Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, first)
	r := reignOf(t, map[string]*Node{"a": first})
	late, err := net.Join("b", Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, late)
	if err := r.AddStandby(t.Context(), "b", "b"); err != nil {
		t.Fatal(err)
	}
	if err := r.AddStandby(t.Context(), "b", "b"); err != nil {
		t.Fatal("once more: ", err)
	}
	if err := r.PutSetting(t.Context(), "s", []byte("v")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the standby has the state", func() bool { v, _ := late.Setting("s"); return string(v) == "v" })
	if err := r.Promote(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if err := r.Promote(t.Context(), "z"); !errors.Is(err, ErrNoMember) {
		t.Errorf("a head that nobody knows: %v", err)
	}
	if m := r.Members(); len(m) != 2 || !m[0].Voter || !m[1].Voter {
		t.Errorf("members: %+v", m)
	}
	if err := r.TransferTo(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	next := reignOf(t, map[string]*Node{"b": late})
	if err := next.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if m := next.Members(); len(m) != 1 || m[0].ID != "b" {
		t.Errorf("members: %+v", m)
	}
}

// A leader that loses its term while a decision is under way does not say that nothing was changed: the next leader may have it.
func TestReign_EndsWithADecisionUnderWay_SaysThatItMayBeApplied(t *testing.T) {
	net, members := openThree(t)
	r := reignOf(t, members)
	if err := r.PutSetting(t.Context(), "s", []byte("first")); err != nil {
		t.Fatal(err)
	}
	net.Cut(r.Self(), true)
	err := r.PutSetting(t.Context(), "s", []byte("second")) // it is in this member's log, and nobody hears of it
	if !errors.Is(err, ErrDeposed) || !errors.Is(err, record.ErrMayHaveBeenApplied) {
		t.Errorf("got %v", err)
	}
	if err := r.PutSetting(t.Context(), "s", []byte("third")); !errors.Is(err, ErrDeposed) || errors.Is(err, record.ErrMayHaveBeenApplied) {
		t.Errorf("after the end: got %v", err)
	}
}
