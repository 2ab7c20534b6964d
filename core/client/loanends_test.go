package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// How long a task may run before those behind it go back: twice as long as its like, within bounds.
func TestPatience_TwiceAsLongAsItsLike_WithinBounds(t *testing.T) {
	for usual, want := range map[time.Duration]time.Duration{
		0: bounceAfter, bounceAfter / 2: bounceAfter, bounceAfter: 2 * bounceAfter, bounceAtMost / 2: bounceAtMost, time.Hour: bounceAtMost,
	} {
		e := &executor{last: &RemoteTemplate{usual: usual}}
		if got := e.patience(); got != want {
			t.Errorf("its like run for %v: %v, want %v", usual, got, want)
		}
		if got := e.answersAtOnce(); got != (usual > batchFor) {
			t.Errorf("its like run for %v: it answers at once: %v", usual, got)
		}
	}
	e := &executor{}
	if got := e.patience(); got != bounceAfter || e.answersAtOnce() {
		t.Errorf("the first task: %v, it answers at once: %v", got, e.answersAtOnce())
	}
	if (&executor{last: &RemoteTemplate{usual: batchFor}}).answersAtOnce() {
		t.Error("tasks that are as short as answers wait for each other answer at once")
	}
}

// The calls behind a task are due to go back when it has run for too long; when
// nothing runs or nothing is behind it, nothing is due.
func TestOverdue_OnlyWhatWaitsBehindARunningTask(t *testing.T) {
	const most = time.Hour
	behind := lane{queue: []*call{{}}}
	long := time.Now().Add(-time.Minute)
	for _, x := range []struct {
		what string
		e    executor
		late bool
		from time.Duration // bounds of what is left
		to   time.Duration
	}{
		{"nothing runs", executor{lane: behind, started: long}, false, most, most},
		{"nothing is behind", executor{busy: 1, started: long}, true, most, most},
		{"it has run for long", executor{lane: behind, busy: 1, started: long}, true, 0, 0},
		{"it runs for longer yet", executor{lane: behind, busy: 1, started: time.Now().Add(time.Minute)}, false, time.Second, time.Minute + bounceAfter},
	} {
		if got := x.e.late(); got != x.late {
			t.Errorf("%s: it is late: %v", x.what, got)
		}
		if got := x.e.overdue(most); got < x.from || got > x.to {
			t.Errorf("%s: %v are left, want %v to %v", x.what, got, x.from, x.to)
		}
	}
}

// A short wait of a long task lends its CPUs now and then, and always while they are lent already.
func TestLendsAtOnce_LongTasksNowAndThen(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, x := range []struct {
		what string
		e    executor
		want bool
	}{
		{"a long task that has not lent for long", executor{started: ago(time.Hour), lentAt: ago(time.Hour)}, true},
		{"a short task", executor{started: ago(bounceAfter), lentAt: ago(time.Hour)}, false},
		{"a long task that has lent just now", executor{started: ago(time.Hour), lentAt: ago(lendEvery)}, false},
		{"a short task whose CPUs are lent", executor{started: now, lentAt: now, lent: true}, true},
	} {
		if got := x.e.lendsAtOnce(now); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}

// The CPUs of a task that waits are lent until its last wait is over for a while, and
// its callers hear of both; an actor's caller does not. Then they can be lent again.
func TestUnblock_LastWaitIsOver_CPUsAreTakenBackOnce(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	leases, acts := calls(t, w, wire.RoleLease, nil), calls(t, w, wire.RoleActor, nil)
	for _, p := range []*fakeCaller{leases, acts} {
		p.send(templateOf(1, nil), callOf(1, 1, "x"))
	}
	first, second := takes(t, w), takes(t, w)
	w.mu.Lock()
	w.exec.block()
	w.exec.block()
	w.mu.Unlock()
	d.eventually("the CPUs are lent", func() bool { return d.blocked == 1 })
	w.mu.Lock()
	w.exec.unblock()
	w.mu.Unlock()
	w.exec.takeBackLater()
	w.mu.Lock()
	if !w.exec.lent || w.exec.blocked != 1 {
		t.Errorf("while one of two waits goes on: lent %v, %d wait", w.exec.lent, w.exec.blocked)
	}
	w.exec.unblock()
	w.exec.resumed = time.Now().Add(time.Hour) // it has waited again since the timer was set
	w.mu.Unlock()
	w.exec.takeBackLater()
	w.mu.Lock()
	if !w.exec.lent {
		t.Error("the CPUs are taken back though the task has waited a moment ago")
	}
	w.exec.block()
	w.exec.unblock()
	w.mu.Unlock()
	d.eventually("the CPUs are taken back", func() bool { return d.blocked == 0 })
	w.exec.takeBackLater() // nothing is lent
	w.mu.Lock()
	w.exec.block()
	w.mu.Unlock()
	d.eventually("the CPUs are lent again", func() bool { return d.blocked == 1 })
	w.mu.Lock()
	w.exec.unblock()
	w.mu.Unlock()
	d.eventually("the CPUs are taken back again", func() bool { return d.blocked == 0 })
	answers(t, w, first, "one")
	answers(t, w, second, "two")
	for what, p := range map[string]*fakeCaller{"the one who leases it": leases, "the caller of an actor": acts} {
		heard := ""
		for s := p.readsOne(); s.op != wire.OpReply; s = p.readsOne() {
			heard += map[wire.Op]string{wire.OpBlocked: "waits ", wire.OpUnblocked: "goes on "}[s.op]
		}
		want := map[*fakeCaller]string{leases: "waits goes on waits goes on ", acts: ""}[p]
		if heard != want {
			t.Errorf("%s hears %q, want %q", what, heard, want)
		}
	}
}

// A call that was given back is nobody's here: its cancellation waits for it to come again.
func TestBounce_CallIsGivenBack_ItsCancellationIsNotAnsweredHere(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	p := calls(t, w, wire.RoleLease, nil)
	p.send(templateOf(1, nil), callOf(1, 1, "runs"), callOf(2, 1, "behind"), callOf(3, 1, "behind"))
	it := takes(t, w)
	waitFor(t, "both are behind it", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.exec.queue) == 2
	})
	w.mu.Lock()
	behind, last := w.exec.queue[0].task, w.exec.queue[1].task
	w.mu.Unlock()
	w.exec.cancel(&wire.Cancel{TaskID: last[:]})
	p.isReply(3, wire.ReplyCancelled)
	w.mu.Lock()
	w.exec.block()
	w.mu.Unlock()
	if s := p.reads(); s.op != wire.OpReturned || len(s.seqs) != 1 || s.seqs[0] != 2 {
		t.Errorf("the worker says %+v, want that call 2 comes back", s)
	}
	w.exec.cancel(&wire.Cancel{TaskID: behind[:]})
	w.mu.Lock()
	if len(w.exec.early) != 1 || w.exec.busy != 1 {
		t.Errorf("%d cancellations wait for their calls, %d calls run, want 1 and 1", len(w.exec.early), w.exec.busy)
	}
	w.exec.unblock()
	w.mu.Unlock()
	answers(t, w, it, "done")
	p.isReply(1, 0, "done")
}
