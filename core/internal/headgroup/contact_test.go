package headgroup

import (
	"context"
	"sync"
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
	others := followers(seats, leader)
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

// TestRequestVote_KeptConnectionsHaveEnded_IsMadeAgain: a head that was restarted since the last call can vote.
func TestRequestVote_KeptConnectionsHaveEnded_IsMadeAgain(t *testing.T) {
	t.Parallel()
	seats := threeSeats(t)
	first := reign(t, seats, "")
	var others []*seat
	for id, s := range seats {
		if id != first.Member().Self() {
			others = append(others, s)
		}
	}
	from, to := others[0].group, others[1].group.o.ID
	ask := func() error {
		return from.transport.RequestVote(raft.ServerID(to), raft.ServerAddress(to), &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(from.o.ID), Addr: []byte(from.o.ID)}}, &raft.RequestVoteResponse{})
	}
	var all sync.WaitGroup
	for range pooled { // leaves as many connections as are kept
		all.Go(func() {
			if err := ask(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	others[1].part()
	others[1].join()
	if err := ask(); err != nil {
		t.Errorf("the head can be reached, and does not get a request for its vote: %v", err)
	}
}
