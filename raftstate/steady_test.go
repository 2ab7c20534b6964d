package raftstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// logLength is how many entries follow the last snapshot.
func logLength(t *testing.T, n *Node) int {
	t.Helper()
	stats := n.raft.Stats()
	last, err1 := strconv.Atoi(stats["last_log_index"])
	snapshot, err2 := strconv.Atoi(stats["last_snapshot_index"])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return last - snapshot
}

// A session of days makes and ends actors all the time: after its first minutes nothing may grow any more.
func TestNode_ManyActorsEnded_KeepsAsMuchAsItSays(t *testing.T) {
	ctx := testContext(t)
	n := openWith(t, Options{})
	for i := range 2100 {
		var id ids.Actor
		binary.BigEndian.PutUint64(id[:], uint64(i+1))
		a := record.Actor{ID: id, Spec: make([]byte, 1000)}
		if err := errors.Join(n.RegisterActor(ctx, a), n.ActorDead(ctx, id, 0, record.Cause{Reason: record.Killed}, 1)); err != nil {
			t.Fatal(err)
		}
	}
	// The log is shortened beside the commands: some more of them give it the time.
	for i := 0; logLength(t, n) > 2*singleCompactEntries; i++ {
		if i == 1000 {
			t.Fatalf("the log has %d entries", logLength(t, n))
		}
		if _, err := n.PutKV(ctx, "ns", fmt.Sprint(i%3), nil, true); err != nil {
			t.Fatal(err)
		}
	}
	n.fsm.view(func(m *Machine) {
		if m.actors.Len() != keptDeadActors || m.answered.Len() > 1 {
			t.Errorf("%d dead actors and %d results are kept", m.actors.Len(), m.answered.Len())
		}
	})
	if kept := n.fsm.ring.Len(); kept != singleKeptEvents {
		t.Errorf("%d events are kept", kept)
	}
}
