package execute

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// A call that has begun or was given back before leaves the queue and goes to
// nobody; calls that are nobody's lease stay, in their order.
func TestGiveBackAll_TakenOnesGoNowhere_OthersThanTasksStay(t *testing.T) {
	w, s := newWorker()
	lease, p := s.joins(w, "lease", wire.RoleLease)
	gone, q := s.joins(w, "gone", wire.RoleLease)
	q.closed = true
	actor, r := s.joins(w, "actor", wire.RoleActor)
	begun := &Call{Caller: lease, Tmpl: &Template{}, taken: true, seq: 7}
	lease.feeds = map[uint32]*Call{7: begun}
	stay := []*Call{{Caller: actor, Tmpl: &Template{}}, {Caller: lease}, {Caller: gone, Tmpl: &Template{}}, {Tmpl: &Template{}}}
	w.main.queue = []*Call{stay[0], begun, stay[1], stay[2], begun, stay[3]}
	all := w.main.queue
	w.giveBackAll()
	if !slices.Equal(w.main.queue, stay) {
		t.Errorf("%d calls stay, want %d", len(w.main.queue), len(stay))
	}
	if p.writes+q.writes+r.writes+p.Unsent()+q.Unsent()+r.Unsent() > 0 {
		t.Error("a call is given back that is not to be")
	}
	if lease.feeds[7] != begun {
		t.Error("a call that has begun is given back, and hears no more of what its caller consumes")
	}
	if all[4] != nil || all[5] != nil {
		t.Error("the queue's memory holds calls that have left it")
	}
}

// How long a task may run before those behind it go back: twice as long as its like, within bounds.
func TestPatience_TwiceAsLongAsItsLike_WithinBounds(t *testing.T) {
	for usual, want := range map[time.Duration]time.Duration{
		0: GiveBackAfter, GiveBackAfter / 2: GiveBackAfter, GiveBackAfter: 2 * GiveBackAfter, giveBackAtMost / 2: giveBackAtMost, time.Hour: giveBackAtMost,
		time.Millisecond: GiveBackAfter, 8 * time.Millisecond: 16 * time.Millisecond,
	} {
		w := &Worker{last: &Template{usual: usual}}
		if got := w.patience(); got != want {
			t.Errorf("its like run for %v: %v, want %v", usual, got, want)
		}
		if got := w.answersAtOnce(); got != (usual > shareFor) {
			t.Errorf("its like run for %v: it answers at once: %v", usual, got)
		}
	}
	w := &Worker{}
	if got := w.patience(); got != GiveBackAfter || w.answersAtOnce() {
		t.Errorf("the first task: %v, it answers at once: %v", got, w.answersAtOnce())
	}
	if (&Worker{last: &Template{usual: shareFor}}).answersAtOnce() {
		t.Error("tasks that are as short as answers wait for each other answer at once")
	}
}

func TestTypical_OneLongCallAmongShortOnes_PatienceStays(t *testing.T) {
	usual := time.Duration(0)
	for range 100 {
		usual = typical(usual, 20*time.Microsecond)
	}
	usual = typical(usual, 500*time.Millisecond)
	w := &Worker{last: &Template{usual: usual}}
	if got := w.patience(); got != GiveBackAfter {
		t.Errorf("what is behind a long call waits for %v, want %v", got, GiveBackAfter)
	}
	for range 40 {
		usual = typical(usual, 500*time.Millisecond)
	}
	if usual < 100*time.Millisecond {
		t.Errorf("calls that have become long usually take %v", usual)
	}
}

// running returns a worker that runs a task since some time, with calls behind it.
func running(since time.Duration, behind int) *Worker {
	w := &Worker{started: time.Now().Add(-since), calls: callsOf(&Call{token: 1})}
	w.main.queue = make([]*Call, behind)
	return w
}

// A worker looks again a little after the calls behind a long one are due to go back.
func TestLookAgain_CallsWaitBehindALongOne_SoonerThanOtherwise(t *testing.T) {
	const most = time.Hour
	synctest.Test(t, func(t *testing.T) {
		idle := running(time.Minute, 1)
		idle.calls = runs{}
		for what, x := range map[string]struct {
			w     *Worker
			late  bool
			after time.Duration
		}{
			"nothing runs":        {idle, false, most},
			"nothing is behind":   {running(time.Minute, 0), true, most},
			"it has run for long": {running(time.Minute, 1), true, time.Millisecond},
			"it is due in a time": {running(time.Millisecond, 1), false, GiveBackAfter},
			"it has just begun":   {running(0, 1), false, GiveBackAfter + time.Millisecond},
		} {
			if got := x.w.late(); got != x.late {
				t.Errorf("%s: it is late: %v", what, got)
			}
			if got := x.w.LookAgain(most); got != x.after {
				t.Errorf("%s: it looks again after %v, want %v", what, got, x.after)
			}
		}
	})
}

// Nobody looks at the sockets while the running task may still be short, and the poller rests when its like run long enough.
func TestUndisturbed_OnlyWhileATaskRunsThatMayBeShort(t *testing.T) {
	long := &Template{usual: 10 * time.Millisecond}
	synctest.Test(t, func(t *testing.T) {
		for what, x := range map[string]struct {
			since  time.Duration
			last   *Template
			change func(*Worker)
			left   time.Duration
			rests  bool
		}{
			"nothing runs":            {0, long, func(w *Worker) { w.calls = runs{} }, 0, false},
			"a socket is to be read":  {0, long, func(w *Worker) { w.unread = true }, 0, false},
			"a task runs":             {time.Millisecond, &Template{}, nil, 3 * time.Millisecond, false},
			"a task of long ones":     {time.Millisecond, long, nil, 19 * time.Millisecond, true},
			"two tasks":               {time.Millisecond, long, func(w *Worker) { w.calls.add(&Call{token: 2}) }, 19 * time.Millisecond, true},
			"it is nearly due":        {19 * time.Millisecond, long, nil, time.Millisecond, false},
			"it has run for too long": {21 * time.Millisecond, long, nil, -time.Millisecond, false},
		} {
			w := running(x.since, 0)
			w.last = x.last
			if x.change != nil {
				x.change(w)
			}
			if left, rests := w.Undisturbed(); left != x.left || rests != x.rests {
				t.Errorf("%s: %v, %v; want %v, %v", what, left, rests, x.left, x.rests)
			}
		}
	})
}

// A short wait of a long task lends its CPUs now and then, and always while they are lent already.
func TestLendsAtOnce_LongTasksNowAndThen(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, x := range []struct {
		what string
		w    Worker
		want bool
	}{
		{"a long task that has not lent for long", Worker{started: ago(time.Hour), lentAt: ago(time.Hour)}, true},
		{"a short task", Worker{started: ago(GiveBackAfter), lentAt: ago(time.Hour)}, false},
		{"a long task that has lent just now", Worker{started: ago(time.Hour), lentAt: ago(lendEvery)}, false},
		{"a short task whose CPUs are lent", Worker{started: now, lentAt: now, lent: true}, true},
	} {
		if got := x.w.LendsAtOnce(now); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}
