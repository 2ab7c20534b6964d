package ring

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
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
	r := New(1000)
	for seq := uint64(1); seq <= 900; seq += 3 {
		r.Add(events(seq, seq+2))
	}
	at := record.Cursor{Epoch: 1}
	for want := uint64(1); at.Seq < 900; {
		b, err := r.Watch(context.Background(), at)
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
	r := New(4)
	r.Add(events(1, 3))
	r.Add(events(4, 10))
	ctx := context.Background()
	for seq, want := range map[uint64]int{5: -1, 0: -1, 6: 4, 9: 1, 11: -1} {
		b, err := r.Watch(ctx, record.Cursor{Seq: seq, Epoch: 1})
		if want < 0 != errors.Is(err, record.ErrCompacted) || want >= 0 && (len(b.Events) != want || b.Events[0].Seq != seq+1) {
			t.Errorf("after %d: got %v, %v", seq, b.Events, err)
		}
	}
	r.Reset(20)
	if _, err := r.Watch(ctx, record.Cursor{Seq: 10, Epoch: 1}); !errors.Is(err, record.ErrCompacted) {
		t.Errorf("after a restore: got %v", err)
	}
	r.Add(events(21, 27))
	if b, err := r.Watch(ctx, record.Cursor{Seq: 23, Epoch: 1}); err != nil || len(b.Events) != 4 || b.Events[0].Seq != 24 {
		t.Errorf("after a restore: got %v, %v", b.Events, err)
	}
}

func TestRing_NothingNew_WaitsForEventLeadershipOrEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(4)
		type reply struct {
			b   record.Batch
			err error
		}
		replies := make(chan reply, 1)
		at := record.Cursor{}
		watch := func(ctx context.Context) {
			go func() {
				b, err := r.Watch(ctx, at)
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
		r.Lead(true)
		if got := next(); !got.b.Leading || len(got.b.Events) != 0 {
			t.Errorf("it leads: got %+v", got)
		}
		watch(t.Context())
		r.Add(events(1, 2))
		if got := next(); !got.b.Leading || len(got.b.Events) != 2 {
			t.Errorf("events: got %+v", got)
		}
		watch(t.Context())
		r.Lead(true) // another led in between
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
		r.Close()
		if got := next(); !errors.Is(got.err, record.ErrClosed) {
			t.Errorf("closed: got %+v", got)
		}
	})
}

// A ring of any size against a list of all events: batches that fit it and
// that do not, states that come from snapshots, and watches from everywhere.
func TestRing_RandomHistory_AsAListOfAllEvents(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for size := 1; size <= 9; size++ {
		r := New(size)
		first, last := uint64(1), uint64(0) // first: the oldest that is kept
		for step := range 300 {
			if rng.IntN(20) == 0 {
				last += uint64(rng.IntN(30))
				first = last + 1
				r.Reset(last)
			} else {
				n := uint64(rng.IntN(2 * size))
				r.Add(events(last+1, last+n))
				last += n
				if kept := last + 1 - first; kept > uint64(size) {
					first = last + 1 - uint64(size)
				}
			}
			for seq := last - min(last, uint64(2*size)); seq <= last+2; seq++ {
				b, wake, err := r.poll(record.Cursor{Seq: seq, Epoch: 1})
				switch {
				case seq+1 < first || seq > last:
					if !errors.Is(err, record.ErrCompacted) || wake != nil {
						t.Fatalf("size %d, step %d: event %d of %d to %d is watched: %v, %v", size, step, seq+1, first, last, b, err)
					}
				case seq == last:
					if err != nil || wake == nil {
						t.Fatalf("size %d, step %d: the watch after the last event does not wait: %v, %v", size, step, b, err)
					}
				case err != nil || wake != nil || !reflect.DeepEqual(b.Events, events(seq+1, last)) || b.Next != (record.Cursor{Seq: last, Epoch: 1}):
					t.Fatalf("size %d, step %d: after %d of %d to %d: got %v, %v", size, step, seq, first, last, b, err)
				}
			}
		}
	}
}

// Each change of who leads is a new epoch: a cursor of an earlier one does not wait.
func TestRing_Lead_EachTermIsAnEpoch(t *testing.T) {
	r := New(4)
	for i, c := range []struct {
		leading bool
		epoch   uint64
	}{{false, 1}, {true, 2}, {true, 3}, {false, 4}, {false, 4}, {true, 5}} {
		r.Lead(c.leading)
		b, wake, err := r.poll(record.Cursor{})
		if err != nil || wake != nil || b.Leading != c.leading || b.Next.Epoch != c.epoch {
			t.Errorf("step %d: got %+v, %v", i, b, err)
		}
	}
}
