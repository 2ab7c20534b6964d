package client

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A process that leaves a session that is alive gives the daemon time to send the output of its workers.
// A worker has none, and who has no time does not ask.
func TestCloseContext_JobEndIsToldByWhoHasOneAndTime(t *testing.T) {
	for what, x := range map[string]struct {
		role   string
		before func(c *Client, cancel func())
		told   int32
	}{
		"a driver":              {wire.RoleDriver, func(*Client, func()) {}, 1},
		"a service":             {wire.RoleService, func(*Client, func()) {}, 1},
		"a worker":              {wire.RoleWorker, func(*Client, func()) {}, 0},
		"a driver without time": {wire.RoleDriver, func(_ *Client, cancel func()) { cancel() }, 0},
		"a driver whose session is over": {wire.RoleDriver, func(c *Client, _ func()) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.fail(errors.New("it is over"))
		}, 0},
	} {
		d := startDaemon(t)
		var told atomic.Int32
		d.answers(wire.TJobEnd, func(m *wire.Message) bool {
			told.Add(1)
			_ = m.Reply(nil)
			return true
		})
		c, err := Connect(Options{Socket: d.sock(), Role: x.role, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		x.before(c, cancel)
		p := d.peerTo(c)
		c.CloseContext(ctx)
		cancel()
		<-p.Done() // everything that was sent has been handled
		if n := told.Load(); n != x.told {
			t.Errorf("%s tells the end of its job %d times, want %d", what, n, x.told)
		}
		if n := c.NextNote(testLimit); n == nil || n.Closed == "" {
			t.Errorf("%s: the user gets %+v, want that the session has ended", what, n)
		}
	}
}

// The program of a worker whose session ends is told so.
func TestClose_WorkersProgramWaits_ItIsTold(t *testing.T) {
	w := startDaemon(t).programless()
	w.Close(0)
	if it := takes(t, w); it.Kind != ItemExit || it.Reason != "the session ended" {
		t.Errorf("the program gets %+v", it)
	}
}

// Without an arena there is nothing to do here: the process leaves again.
func TestConnect_DaemonSendsNoArena_LeavesNothing(t *testing.T) {
	d := startDaemon(t)
	d.mu.Lock()
	d.noArena = true
	d.mu.Unlock()
	open := map[int]bool{}
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Descriptor: func(fd int, is bool) { open[fd] = is }})
	if c != nil || err == nil || !strings.Contains(err.Error(), "no arena") {
		t.Fatalf("%v, %v", c, err)
	}
	for fd, is := range open {
		if is {
			t.Errorf("descriptor %d is still open", fd)
		}
	}
	d.eventually("the daemon sees the process leave", func() bool {
		for p := range d.peers {
			select {
			case <-p.Done():
				return true
			default:
			}
		}
		return false
	})
}

func TestConnect_RetryDelay_IsReadFromTheEnvironment(t *testing.T) {
	d := startDaemon(t)
	for text, want := range map[string]time.Duration{"70": 70 * time.Millisecond, "-5": 0, "none": 0, "": 0} {
		c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Env: map[string]string{"EAGLERAY_" + retryDelayVar: text}})
		if err != nil {
			t.Fatal(err)
		}
		if c.submit.Settings.RetryDelay != want {
			t.Errorf("%q is a delay of %v, want %v", text, c.submit.Settings.RetryDelay, want)
		}
		c.Close(0)
	}
}

// What the program lets go of through the option Drops goes when the process polls.
func TestDrops_ThroughTheOption_GoWithTheNextPoll(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	var mu sync.Mutex
	var gone []Drop
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Background: lend, Drops: func() []Drop {
		mu.Lock()
		defer mu.Unlock()
		list := gone
		gone = nil
		return list
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(0)
	id := putBytes(t, c, 10, 1)
	there := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.table.Find(id) != nil
	}
	mu.Lock()
	gone = append(gone, Drop{Object: id})
	mu.Unlock()
	if !there() {
		t.Fatal("the object went before anything asked what was let go of")
	}
	ref := submitText(t, c, template(t, c, "f"), "x")
	if got := get(t, c, ref); got != "x" {
		t.Fatal(got)
	}
	waitFor(t, "the object that was let go of is gone", func() bool { return !there() })
}

// A program may let go, in a later session, of what it looked at in an earlier one, or was lent.
func TestDrops_OfAnEarlierSessionOrALoan_AreTaken(t *testing.T) {
	d := startDaemon(t)
	first := d.driver()
	id := putBytes(t, first, 2*MaxInline, 1)
	f, err := first.Get(id, testLimit)
	if err != nil || f.View == 0 {
		t.Fatal(f, err)
	}
	others := localstore.Orphans() // of other tests
	first.Close(0)
	later := d.driver()
	known := func() bool { return localstore.Orphans() > others }
	if !known() {
		t.Fatal("what the program looks at went with the session")
	}
	later.Release(Drop{View: f.View})
	if known() {
		t.Error("what was let go of in a later session stays mapped")
	}
	before := Loans()
	g := lentValue(store.FormatBytes, 1024)
	Lend(&g)
	if Loans() != before+1 {
		t.Fatalf("%d values are lent, want %d", Loans(), before+1)
	}
	later.Release(Drop{View: g.View})
	if Loans() != before {
		t.Errorf("%d values are lent after the loan's end, want %d", Loans(), before)
	}
}

// An actor that this process kills for good is dead for its own later calls at once; one that may restart is not.
func TestKillActor_ForGood_LaterCallsFailAtOnce(t *testing.T) {
	for _, noRestart := range []bool{false, true} {
		d := startDaemon(t)
		d.act(0, echoes)
		c := d.driver()
		id := newActor(t, c, ActorSpec{})
		var asked wire.ActorKill
		d.answers(wire.TActorKill, func(m *wire.Message) bool {
			_ = m.Decode(&asked)
			_ = m.Reply(wire.ActorDeath{State: wire.ActorDead, Message: "it was killed"})
			return true
		})
		if err := c.KillActor(id, noRestart); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		if string(asked.ActorID) != string(id[:]) || asked.NoRestart != noRestart {
			t.Errorf("the daemon is asked to kill %x, without a restart: %v", asked.ActorID, asked.NoRestart)
		}
		d.mu.Unlock()
		c.mu.Lock()
		dead := c.submit.Actors[id].Dead()
		c.mu.Unlock()
		if (dead != nil) != noRestart || dead != nil && (dead.Code != fault.ActorDied || !strings.Contains(dead.Message, "it was killed")) {
			t.Errorf("killed without a restart %v: this process believes that it is dead: %v", noRestart, dead)
		}
		d.answers(wire.TActorKill, func(m *wire.Message) bool {
			_ = m.Fail(fault.New(fault.NotFound, "no such actor"))
			return true
		})
		if err := c.KillActor(id, noRestart); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("the daemon's refusal is %v", err)
		}
	}
}

// The last tasks that ended are listed, the latest first, with how they ended.
func TestCensusEnded_LatestFirst_WithTheirStates(t *testing.T) {
	d := startDaemon(t)
	d.worker(func(c *Client, it *Item) {
		if textOf(it) == "raise" {
			raising(c, it)
			return
		}
		echo(c, it)
	})
	c := d.driver()
	tm := template(t, c, "f")
	for _, said := range []string{"first", "raise", "last"} {
		if _, err := c.Get(submitText(t, c, tm, said), testLimit); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all, one wire.ProcessCensus
	c.submit.CountEnded(&all, 10)
	c.submit.CountEnded(&one, 1)
	var states []string
	for _, r := range all.Ended {
		states = append(states, r.State)
		if r.Name != "f" || r.Method || len(r.ActorID) != 0 || r.Attempt != 0 {
			t.Errorf("an ended task is listed as %+v", r)
		}
	}
	if got := strings.Join(states, " "); got != "FINISHED FAILED FINISHED" || len(one.Ended) != 1 {
		t.Errorf("the ended tasks are %q, and %d of one", got, len(one.Ended))
	}
	if string(all.Ended[0].TaskID) == string(all.Ended[2].TaskID) || string(one.Ended[0].TaskID) != string(all.Ended[0].TaskID) {
		t.Error("the ended tasks are not told apart")
	}
	if len(all.ByMaker) != 1 || all.ByMaker[0] != (wire.Ends{Name: "f", Finished: 2, Failed: 1}) {
		t.Errorf("the functions' ends are %+v", all.ByMaker)
	}
}

// What the daemon says of a lease reaches it through its messages.
func TestFromDaemon_LeaseIsRecalledOrWanted_TheLeaseKnows(t *testing.T) {
	d := startDaemon(t)
	w, c := d.forcedWorker(), d.driver()
	ref := submitText(t, c, template(t, c, "f"), "x")
	<-w.begun
	c.mu.Lock()
	var l *submit.Lease
	for _, l = range c.submit.Leases {
	}
	c.mu.Unlock()
	d.says(c, push(wire.TLeaseWanted, wire.LeaseRef{LeaseID: l.ID}))
	c.mu.Lock()
	if !l.Wanted || l.Recall {
		t.Errorf("a lease that others wait for: wanted %v, recalled %v", l.Wanted, l.Recall)
	}
	c.mu.Unlock()
	d.says(c, push(wire.TLeaseRecall, wire.LeaseRef{LeaseID: l.ID}))
	c.mu.Lock()
	if !l.Recall {
		t.Error("a recall does not reach its lease")
	}
	c.mu.Unlock()
	w.goOn <- struct{}{}
	if text, code := outcome(t, c, ref); text != "x" {
		t.Errorf("its task: %q, %q", text, code)
	}
	d.eventually("the lease goes back when its task has ended", func() bool { return d.given == 1 })
}
