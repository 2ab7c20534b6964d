package execute

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

var stream = frame.Flow{Mode: frame.FlowStream}

// A generator that has ended is not among its caller's generators any more, and the others stay.
func TestFeed_Ends_ItsCallerForgetsIt(t *testing.T) {
	w, s := newWorker()
	c, _ := s.joins(w, "c", wire.RoleActor)
	says(t, c, generatorOf(1, stream), resumed(1, 1, new(frame.Resume), nil), resumed(2, 1, new(frame.Resume), nil))
	one, two := begins(t, w), begins(t, w)
	answers(w, one, 0)
	if len(c.feeds) != 1 || c.feeds[2] != two || len(w.feeding) != 1 {
		t.Errorf("the caller has the generators %v, want the second one", c.feeds)
	}
	answers(w, two, 0)
	if len(c.feeds) != 0 || len(w.feeding) != 0 {
		t.Errorf("the caller has %d generators when all have ended", len(c.feeds))
	}
}

// Every running generator knows its place in the list of all, so its end searches nothing. A generator that has not
// begun, that is put back, or that has ended is not in the list, and its end takes no other one off.
func TestFeed_BeginsAndEndsInAnyOrder_KnowsItsPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 50 {
		w, s := newWorker()
		c, _ := s.joins(w, "c", wire.RoleActor)
		says(t, c, generatorOf(1, stream))
		var run []*Call
		seq := uint32(0)
		for step := range 200 {
			switch rng.IntN(4) {
			case 0, 1:
				seq++
				says(t, c, resumed(seq, 1, new(frame.Resume), nil))
				run = append(run, begins(t, w))
			case 2:
				if len(run) > 0 {
					i := rng.IntN(len(run))
					answers(w, run[i], 0)
					if run[i].feed.at != -1 {
						t.Fatalf("a generator that has ended is at place %d", run[i].feed.at)
					}
					run = slices.Delete(run, i, i+1)
				}
			case 3:
				if len(run) > 0 {
					k := run[rng.IntN(len(run))]
					if !w.Defer(k) || k.feed.at != -1 {
						t.Fatalf("a generator that is put back is at place %d", k.feed.at)
					}
					w.Arrived(k)
					if begins(t, w) != k {
						t.Fatal("another call than the one that was put back begins")
					}
				}
			}
			if len(w.feeding) != len(run) {
				t.Fatalf("step %d: %d generators run, %d are listed", step, len(run), len(w.feeding))
			}
			for _, k := range run {
				if at := k.feed.at; at < 0 || at >= len(w.feeding) || w.feeding[at] != k {
					t.Fatalf("step %d: a running generator is not at its place %d of %d", step, at, len(w.feeding))
				}
			}
		}
		// What is cancelled in the queue is answered, and was never in the list.
		seq++
		says(t, c, resumed(seq, 1, new(frame.Resume), nil))
		waits := w.main.queue[0]
		w.Cancel(&wire.Cancel{TaskID: waits.Task[:]})
		if waits.feed.at != -1 || len(w.feeding) != len(run) {
			t.Fatalf("a generator that never ran is at place %d; %d run, %d are listed", waits.feed.at, len(run), len(w.feeding))
		}
	}
}

// The counts of objects that are set aside for a generator are not exceeded. An
// item that could not be made takes no place.
func TestYield_AsManyItemsAsThereMayBe_TheNextIsRefused(t *testing.T) {
	w, s := newWorker()
	c, _ := s.joins(w, "c", wire.RoleLease)
	says(t, c, generatorOf(1, stream), resumed(1, 1, new(frame.Resume), nil))
	k := begins(t, w)
	k.feed.next = MaxItems - 1
	for range 2 {
		y, err := w.Yield(k)
		if err != nil || y.Index != MaxItems-1 || !y.Wanted {
			t.Fatalf("the last item is %+v, %v", y, err)
		}
		if _, err := w.Yield(k); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("one more: %v", err)
		}
		w.Unyield(k, y)
	}
	if _, err := w.Generator(k.Token() + 1); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a generator that does not run: %v", err)
	}
}

// The first item of a generator leaves at once, and those that follow soon share a write.
func TestSendItem_FirstItem_LeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorker()
		c, p := s.joins(w, "c", wire.RoleLease)
		says(t, c, generatorOf(1, stream), resumed(1, 1, new(frame.Resume), nil))
		k := begins(t, w)
		if !c.flushed.IsZero() {
			t.Error("a write is noted although nothing was written")
		}
		body := frame.AppendCount(append(frame.AppendInlineResult(nil, 1), 'v'), 0)
		for i, writes := range []int{1, 1, 2} {
			w.SendItem(k, uint64(i), 0, body, i == 2, 0) // the last one lies in the store
			if p.writes != writes || p.Unsent() > 0 != (i == 1) {
				t.Errorf("after item %d there were %d writes, want %d; %d bytes wait", i, p.writes, writes, p.Unsent())
			}
		}
	})
}

// The answer of a short call leaves before the next call begins: a call that ends its process must not take it along.
// Calls of one function may share a write.
func TestNext_AnswersOfOtherCalls_LeaveBeforeItBegins(t *testing.T) {
	for what, x := range map[string]struct {
		template uint64 // of the second call
		once     bool
		waits    bool // the first answer waits for the second one
	}{
		"another function":      {template: 2},
		"it must not run twice": {template: 1, once: true},
		"the same function":     {template: 1, waits: true},
	} {
		synctest.Test(t, func(t *testing.T) { // no time passes
			w, s := newWorker()
			c, p := s.joins(w, "c", wire.RoleLease)
			says(t, c, templateOf(1, func(y *frame.Template) { y.Once = x.once }), templateOf(2, nil), taskOf(1, 1), taskOf(2, x.template), taskOf(3, 1))
			k := begins(t, w)
			c.flushed = k.started
			answers(w, k, 0)
			if p.writes != 0 {
				t.Errorf("%s: the first answer leaves at once although a call follows", what)
			}
			next := begins(t, w)
			if left := p.Unsent(); left > 0 != x.waits {
				t.Errorf("%s: %d bytes of the first answer have not left when the second call begins", what, left)
			}
			answers(w, next, 0)
		})
	}
}
