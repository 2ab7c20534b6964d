package raftstate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/eagleray/eagleray/core/record"
)

func events(from, to uint64) (list []record.Event) {
	for seq := from; seq <= to; seq++ {
		list = append(list, record.Event{Seq: seq})
	}
	return list
}

func TestRing_Watch_GivesEventsInOrderWithoutGaps(t *testing.T) {
	r := newRing(1000)
	for seq := uint64(1); seq <= 900; seq += 3 {
		r.add(events(seq, seq+2))
	}
	at := record.Cursor{Epoch: 1}
	for want := uint64(1); at.Seq < 900; {
		b, err := r.watch(context.Background(), at)
		if err != nil || len(b.Events) == 0 || len(b.Events) > maxBatch {
			t.Fatalf("got %d events, %v", len(b.Events), err)
		}
		for _, e := range b.Events {
			if e.Seq != want {
				t.Fatalf("got event %d, want %d", e.Seq, want)
			}
			want++
		}
		at = b.Next
	}
}

func TestRing_TooLate_Compacted(t *testing.T) {
	r := newRing(4)
	r.add(events(1, 3))
	r.add(events(4, 10))
	ctx := context.Background()
	for seq, want := range map[uint64]int{5: -1, 0: -1, 6: 4, 9: 1, 11: -1} {
		b, err := r.watch(ctx, record.Cursor{Seq: seq, Epoch: 1})
		if want < 0 != errors.Is(err, record.ErrCompacted) || want >= 0 && (len(b.Events) != want || b.Events[0].Seq != seq+1) {
			t.Errorf("after %d: got %v, %v", seq, b.Events, err)
		}
	}
	r.reset(20)
	if _, err := r.watch(ctx, record.Cursor{Seq: 10, Epoch: 1}); !errors.Is(err, record.ErrCompacted) {
		t.Errorf("after a restore: got %v", err)
	}
	r.add(events(21, 27))
	if b, err := r.watch(ctx, record.Cursor{Seq: 23, Epoch: 1}); err != nil || len(b.Events) != 4 || b.Events[0].Seq != 24 {
		t.Errorf("after a restore: got %v, %v", b.Events, err)
	}
}

func TestRing_NothingNew_WaitsForEventLeadershipOrEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(4)
		type reply struct {
			b   record.Batch
			err error
		}
		replies := make(chan reply, 1)
		at := record.Cursor{}
		watch := func(ctx context.Context) {
			go func() {
				b, err := r.watch(ctx, at)
				replies <- reply{b, err}
			}()
			synctest.Wait()
		}
		next := func() reply {
			t.Helper()
			synctest.Wait()
			select {
			case got := <-replies:
				at = got.b.Next
				return got
			default:
				t.Fatal("the watch still waits")
			}
			return reply{}
		}

		watch(t.Context())
		if got := next(); got.b.Leading || got.b.Next != (record.Cursor{Epoch: 1}) || got.err != nil {
			t.Errorf("at first: got %+v", got)
		}
		watch(t.Context())
		if len(replies) > 0 {
			t.Error("the watch does not wait")
		}
		r.lead(true)
		if got := next(); !got.b.Leading || len(got.b.Events) != 0 {
			t.Errorf("it leads: got %+v", got)
		}
		watch(t.Context())
		r.add(events(1, 2))
		if got := next(); !got.b.Leading || len(got.b.Events) != 2 {
			t.Errorf("events: got %+v", got)
		}
		watch(t.Context())
		r.lead(true) // another led in between
		if got := next(); !got.b.Leading || got.err != nil {
			t.Errorf("it leads again: got %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		watch(ctx)
		cancel()
		if got := next(); !errors.Is(got.err, context.Canceled) {
			t.Errorf("the context ended: got %+v", got)
		}
		watch(t.Context())
		r.close()
		if got := next(); !errors.Is(got.err, record.ErrClosed) {
			t.Errorf("closed: got %+v", got)
		}
	})
}
