package head_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// leased makes a lease with one key.
func leased(t *testing.T, ctx context.Context, h *head.Head, key string, ttl time.Duration) uint64 {
	t.Helper()
	if err := h.AwaitReports(ctx); err != nil { // only a head that knows that it leads keeps leases
		t.Fatal(err)
	}
	l, err := h.GrantKeyLease(ctx, ttl.Milliseconds())
	if err != nil || l.Outcome != record.KeyDone {
		t.Fatalf("a lease: %+v, %v", l, err)
	}
	w, err := h.WriteKey(ctx, record.KeyWrite{Key: key, Lease: l.ID})
	if err != nil || w.Outcome != record.KeyDone {
		t.Fatalf("a key with the lease: %+v, %v", w, err)
	}
	return l.ID
}

// deletedAt waits until a key is deleted.
func deletedAt(t *testing.T, ctx context.Context, h *head.Head, key string) time.Time {
	t.Helper()
	for from := uint64(0); ; {
		r, err := h.WatchKeys(ctx, key, from)
		if err != nil || r.Compacted {
			t.Fatalf("watch %q: %+v, %v", key, r, err)
		}
		for _, c := range r.List {
			if c.Deleted && c.Lease != 0 {
				return time.Now()
			}
		}
		from = r.Next
	}
}

// A lease that is kept goes on for longer than its time. When it is kept no more, it ends when its whole time has passed since the last word, and not earlier.
func TestHead_KeyLease_EndsItsTimeAfterTheLastWord(t *testing.T) {
	ctx := within(t)
	h := openHead(t, openState(t, raftstate.Options{}), newPlacer())
	if err := h.AwaitReports(ctx); err != nil { // until it leads
		t.Fatal(err)
	}
	ttl := record.MinKeyLease
	id := leased(t, ctx, h, "a", ttl)
	begun := time.Now()
	last := begun
	for time.Since(begun) < 3*ttl/2 {
		word := time.Now()
		kept, err := h.KeepKeyLease(ctx, id)
		if err != nil || !kept {
			t.Fatalf("after %v: kept %v, %v", time.Since(begun), kept, err)
		}
		last = word
		time.Sleep(20 * time.Millisecond)
	}
	if lasted := deletedAt(t, ctx, h, "a").Sub(last); lasted < ttl {
		t.Errorf("it ended %v after the last word, its time is %v", lasted, ttl)
	}
	if kept, err := h.KeepKeyLease(ctx, id); kept || err != nil {
		t.Errorf("a lease that has ended is kept: %v, %v", kept, err)
	}
}

// When another reign begins, nothing of the one before is confirmed, and it ends no lease. A head that leads all the same begins one of its own, when it
// keeps a lease or wants to end one. Then each lease has its whole time again.
func TestHead_AnotherReignBegins_ItBeginsAnew(t *testing.T) {
	ctx, s := within(t), openState(t, raftstate.Options{})
	h := openHead(t, s, newPlacer())
	ttl := record.MinKeyLease
	id := leased(t, ctx, h, "a", ttl)
	rival := func() uint64 {
		t.Helper()
		reign, err := s.BeginKeyReign(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return reign
	}
	keep := func() {
		t.Helper()
		if kept, err := h.KeepKeyLease(ctx, id); err != nil || !kept {
			t.Fatalf("kept %v, %v", kept, err)
		}
	}
	keep()
	first := rival()
	keep()
	if s.KeyReign() <= first {
		t.Errorf("a lease was kept in reign %d, after reign %d had begun", s.KeyReign(), first)
	}
	begun := time.Now()
	second := rival()
	if lasted := deletedAt(t, ctx, h, "a").Sub(begun); lasted < 2*ttl-ttl/10 || s.KeyReign() <= second {
		t.Errorf("the lease ended %v after reign %d had begun, in reign %d", lasted, second, s.KeyReign())
	}
	if kept, err := h.KeepKeyLease(ctx, id); kept || err != nil {
		t.Errorf("a lease that has ended: kept %v, %v", kept, err)
	}
	if l, err := h.ListKeys(ctx, ""); err != nil || len(l.Pairs) != 0 {
		t.Errorf("what is left: %+v, %v", l, err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := h.WatchKeys(ended, strings.Repeat("k", record.MaxKeyBytes+1), 0); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a prefix that is too long: %v", err)
	}
}

// The holder's end of a lease deletes its keys at once.
func TestHead_EndKeyLease_DeletesItsKeys(t *testing.T) {
	ctx := within(t)
	h := openHead(t, openState(t, raftstate.Options{}), newPlacer())
	id := leased(t, ctx, h, "a", time.Hour)
	for range 2 {
		if err := h.EndKeyLease(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, found, err := h.ReadKey(ctx, "a"); found || err != nil {
		t.Errorf("the key is there: %v, %v", found, err)
	}
}

// When another head leads, it gives the lease its whole time again. The one before confirms nothing any more, whatever it believes, and the lease ends
// its whole time after the last word that a head has confirmed.
func TestHead_AnotherLeads_KeyLeaseGoesOn(t *testing.T) {
	ctx, m := within(t), openMembers(t)
	first := m.leader(t, ctx, "")
	ttl := 2 * time.Second
	id := leased(t, ctx, m.heads[first], "a", ttl)
	if kept, err := m.heads[first].KeepKeyLease(ctx, id); err != nil || !kept {
		t.Fatalf("the leader: kept %v, %v", kept, err)
	}
	for _, follower := range m.ids {
		if follower == first {
			continue
		}
		if _, err := m.heads[follower].KeepKeyLease(ctx, id); fault.CodeOf(err) != fault.HeadUnavailable {
			t.Errorf("a head that follows keeps a lease: %v", err)
		}
		if _, found, err := m.heads[follower].ReadKey(ctx, "a"); err != nil || !found {
			t.Errorf("a head that follows has no fresh read: %v, %v", found, err)
		}
	}
	m.net.Cut(first, true)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if kept, err := m.heads[first].KeepKeyLease(short, id); kept || err == nil {
		t.Errorf("a head that is cut off: kept %v, %v", kept, err)
	}
	next := m.leader(t, ctx, first)
	last := time.Now()
	if kept, err := m.heads[next].KeepKeyLease(ctx, id); err != nil || !kept {
		t.Fatalf("the next leader: kept %v, %v", kept, err)
	}
	m.net.Cut(first, false)
	if lasted := deletedAt(t, ctx, m.heads[next], "a").Sub(last); lasted < ttl {
		t.Errorf("it ended %v after the last word, its time is %v", lasted, ttl)
	}
	if kept, err := m.heads[first].KeepKeyLease(ctx, id); kept || err != nil && fault.CodeOf(err) != fault.HeadUnavailable {
		t.Errorf("the head before: kept %v, %v", kept, err)
	}
}
