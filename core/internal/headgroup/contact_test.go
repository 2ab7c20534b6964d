package headgroup

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestAppendEntries_HeadIsBackAfterAWhile_GetsEntriesAtOnce: a majority needs the head that is back, since the other one is lost then.
func TestAppendEntries_HeadIsBackAfterAWhile_GetsEntriesAtOnce(t *testing.T) {
	t.Parallel()
	seats := threeSeats(t)
	first := reign(t, seats, "")
	leader := seats[first.Member().Self()]
	var others []*seat
	for _, s := range seats {
		if s != leader {
			others = append(others, s)
		}
	}
	others[0].part()
	for start := time.Now(); time.Since(start) < 4*time.Second; { // Raft's pauses are at 2.56 s then
		if err := first.PutSetting(t.Context(), "k", []byte("v")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	back := leader.group.transport.contacts.after(raft.ServerID(others[0].group.o.ID))
	others[0].join()
	<-back
	others[1].part()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := first.PutSetting(ctx, "k", []byte("w")); err != nil {
		t.Errorf("with the head that is back there is a majority: %v", err)
	}
	others[1].join()
}

// TestAppendEntries_RaftEnds_WaitsNoMore: a head that waits for another one can end.
func TestAppendEntries_RaftEnds_WaitsNoMore(t *testing.T) {
	t.Parallel()
	seats := threeSeats(t)
	first := reign(t, seats, "")
	leader := seats[first.Member().Self()]
	for _, s := range seats {
		s.part()
	}
	entries := &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1, PrevLogTerm: 1}
	done := make(chan error)
	for id := range seats {
		go func() {
			done <- leader.group.transport.AppendEntries(raft.ServerID(id), raft.ServerAddress(id), entries, &raft.AppendEntriesResponse{})
		}()
	}
	select {
	case err := <-done:
		t.Fatalf("it does not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	leader.group.transport.Leave()
	for range seats {
		if err := <-done; err == nil {
			t.Error("entries that were not sent are told to be there")
		}
	}
	for _, s := range seats {
		s.join()
	}
}
