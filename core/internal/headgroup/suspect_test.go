package headgroup

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/raftstate"
)

// TestGone_ConnectionsAreBrokenBeforeTheyAreRefused: the kernel takes connections for a process that is ending, and breaks them.
func TestGone_ConnectionsAreBrokenBeforeTheyAreRefused(t *testing.T) {
	t.Parallel()
	other := errors.New("the machine does not answer")
	for name, one := range map[string]struct {
		says []error // at each dial; the last one for ever. nil: somebody listens there
		gone bool
	}{
		"ends":          {[]error{unix.ECONNRESET, unix.ECONNRESET, unix.ECONNREFUSED}, true},
		"has ended":     {[]error{unix.ECONNREFUSED}, true},
		"lives":         {[]error{unix.ECONNRESET, nil}, false},
		"does not talk": {[]error{other}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dials := 0
			g := &Group{ctx: t.Context(), o: Options{Dial: func(context.Context, uint32) (net.Conn, error) {
				err := one.says[min(dials, len(one.says)-1)]
				dials++
				if err != nil {
					return nil, err
				}
				a, _ := net.Pipe()
				return a, nil
			}}}
			if gone := g.gone(1); gone != one.gone {
				t.Errorf("after %d dials the head is gone: %v", dials, gone)
			}
		})
	}
}

// TestSuspect_FirstCandidateLacksEntries_TheNextOneLeadsSoon: nobody waits for a heartbeat timeout, which is three seconds at least here.
func TestSuspect_FirstCandidateLacksEntries_TheNextOneLeadsSoon(t *testing.T) {
	t.Parallel()
	seats := threeSeatsWith(t, raftstate.Timing{Heartbeat: 3 * time.Second, Election: 3 * time.Second, Lease: 3 * time.Second, Commit: 50 * time.Millisecond})
	first := reign(t, seats, "")
	leader := seats[first.Member().Self()]
	others := followers(seats, leader)
	late := others[0]
	if err := first.PutSetting(t.Context(), "k", []byte("both have it")); err != nil {
		t.Fatal(err)
	}
	late.part()
	if err := first.PutSetting(t.Context(), "k", []byte("one has it")); err != nil {
		t.Fatal(err)
	}
	id := leader.group.o.ID
	for _, s := range others {
		s.group.led.Store(&id) // as announce does
	}
	leader.end()
	late.join()
	ended := time.Now()
	late.group.suspect(leader.group.o.Number)
	changed := others[1].state.LeaderChanged()
	for others[1].state.Leader() != "" { // it refuses its vote
		<-changed
		changed = others[1].state.LeaderChanged()
	}
	others[1].group.suspect(leader.group.o.Number)
	second := reign(t, seats, leader.group.o.ID)
	if took := time.Since(ended); took > 2*time.Second {
		t.Errorf("another head leads after %v", took)
	}
	if second.Member().Self() == late.group.o.ID {
		t.Error("a head leads that lacks an acknowledged change")
	}
}

func TestSuspects_SeveralConnectionsEnd_TheHeadIsSuspectedOnce(t *testing.T) {
	t.Parallel()
	var s suspects
	if !s.begin(1) || s.begin(1) || !s.begin(2) {
		t.Error("each head is suspected once at a time")
	}
	s.end(1)
	if !s.begin(1) || s.begin(2) {
		t.Error("a head can be suspected again")
	}
}
