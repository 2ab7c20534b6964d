package execute

import (
	"testing"
	"testing/synctest"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wire"
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
			w.SendItem(k, uint64(i), 0, body, i == 2) // the last one lies in the store
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
