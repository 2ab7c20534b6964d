package client

import (
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// leaseWants notes how many leases the daemon is told to want.
func (d *fakeDaemon) leaseWants() (list func() []wire.LeaseWant) {
	var seen []wire.LeaseWant
	d.answers(wire.TLeaseWant, func(m *wire.Message) bool {
		var w wire.LeaseWant
		_ = m.Decode(&w)
		seen = append(seen, w)
		return false
	})
	return func() []wire.LeaseWant {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(seen)
	}
}

// told is what the daemon was told to want, once it has heard all that was said.
func toldWants(t *testing.T, c *Client, list func() []wire.LeaseWant) (n []int) {
	t.Helper()
	if err := c.daemon.Call(t.Context(), wire.TObjStats, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, w := range list() {
		n = append(n, w.Want)
	}
	return n
}

// The daemon hears of a queue when it begins, doubles, halves and ends, not of
// each task.
func TestAdjustWant_QueueGrowsAndShrinks_TheDaemonHearsOfMuch(t *testing.T) {
	d := startDaemon(t)
	wants := d.leaseWants()
	c := d.driver()
	tm := template(t, c, "f")
	var results []ids.Object
	for range 16 {
		results = append(results, submitText(t, c, tm, "x"))
	}
	if got := toldWants(t, c, wants); !slices.Equal(got, []int{1, 2, 4, 8, 16}) {
		t.Errorf("while 16 tasks came: %v", got)
	}
	for i := range results {
		if err := c.Cancel(results[i], false, false); err != nil {
			t.Fatal(err)
		}
	}
	if got := toldWants(t, c, wants)[5:]; !slices.Equal(got, []int{8, 4, 2, 1, 0}) {
		t.Errorf("while they went: %v", got)
	}
	for _, w := range wants() {
		if w.Seen != 1 {
			t.Errorf("a want comes after %d grants, want 0", w.Seen-1)
		}
	}
}

// A want says how many grants it comes after: one that is on its way is not wanted twice.
func TestAdjustWant_AfterGrants_SaysHowManyItHasSeen(t *testing.T) {
	d := startDaemon(t)
	wants := d.leaseWants()
	d.worker(echo)
	c := d.driver()
	tm := template(t, c, "f")
	for n := range 3 {
		get(t, c, submitText(t, c, tm, "x"))
		d.eventually("the lease goes back", func() bool { return d.given == n+1 })
	}
	toldWants(t, c, wants)
	var seen []uint64
	for _, w := range wants() {
		if w.Want > 0 {
			seen = append(seen, w.Seen)
		}
	}
	if !slices.Equal(seen, []uint64{1, 2, 3}) {
		t.Errorf("the wants come after %v grants, each and one more", seen)
	}
}

// Tasks share workers when all that chooses a worker is the same, in whatever order it is said.
func TestClassFor_SameNeeds_OneClass(t *testing.T) {
	d := startDaemon(t)
	var defined []wire.ClassDefine
	d.answers(wire.TClassDefine, func(m *wire.Message) bool {
		var k wire.ClassDefine
		_ = m.Decode(&k)
		defined = append(defined, k)
		return false
	})
	c := d.driver()
	base := func() *Template {
		return &Template{Kind: KindTask, Name: "f", FID: []byte("fffffffffffffff1"), Returns: 1, EnvKey: "e", Strategy: "DEFAULT",
			Resources: map[string]int64{"CPU": 1, "GPU": 2, "a": 3, "b": 4, "c": 5}}
	}
	classOf := func(change func(*Template)) uint32 {
		tm := base()
		change(tm)
		id, err := c.NewTemplate(tm)
		if err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Templates[id].Class.ID
	}
	first := classOf(func(*Template) {})
	for what, change := range map[string]func(*Template){
		"another name":              func(tm *Template) { tm.Name = "g" },
		"other numbers of retries":  func(tm *Template) { tm.MaxRetries = 7 },
		"other numbers of results":  func(tm *Template) { tm.Returns = 2 },
		"a map that was made anew":  func(*Template) {},
		"exceptions that are tried": func(tm *Template) { tm.RetryErrs = true },
	} {
		for range 5 {
			if k := classOf(change); k != first {
				t.Errorf("%s: class %d, want %d", what, k, first)
			}
		}
	}
	cpu := map[string]int64{"CPU": 1}
	others := map[string]func(*Template){
		"another environment":   func(tm *Template) { tm.EnvKey = "x" },
		"another strategy":      func(tm *Template) { tm.Strategy = "SPREAD" },
		"calls of a worker":     func(tm *Template) { tm.MaxCalls = 1 },
		"memory that is held":   func(tm *Template) { tm.Enforce = true },
		"another function":      func(tm *Template) { tm.FID = []byte("fffffffffffffff2") },
		"more of a resource":    func(tm *Template) { tm.Resources["a"] = 4 },
		"another resource":      func(tm *Template) { tm.Resources["d"] = 1 },
		"an alternative":        func(tm *Template) { tm.Fallback = []*Template{{Resources: cpu}} },
		"one that ends workers": func(tm *Template) { tm.Fallback = []*Template{{Resources: cpu, MaxCalls: 1}} },
		"one of another code":   func(tm *Template) { tm.Fallback = []*Template{{Resources: cpu, FID: []byte("fffffffffffffff3")}} },
		"two alternatives":      func(tm *Template) { tm.Fallback = []*Template{{Resources: cpu}, {Resources: cpu}} },
		"one after a while":     func(tm *Template) { tm.Fallback, tm.AfterMs = []*Template{{Resources: cpu}}, 1 },
		"one after longer":      func(tm *Template) { tm.Fallback, tm.AfterMs = []*Template{{Resources: cpu}}, 2 },
	}
	classes := map[uint32]string{first: "the first"}
	for what, change := range others {
		k := classOf(change)
		if same := classes[k]; same != "" {
			t.Errorf("%s shares a class with %s", what, same)
		}
		classes[k] = what
		if again := classOf(change); again != k {
			t.Errorf("%s: class %d, then %d", what, k, again)
		}
	}
	d.eventually("each class is defined once", func() bool { return len(defined) == len(classes) })
}

// twoLeases has one lease that works, until the gate opens, and one that rests.
func twoLeases(t *testing.T, d *fakeDaemon, c *Client) (works ids.Object, goOn func(), busy, idle *submit.Lease) {
	t.Helper()
	gate := make(chan struct{})
	for range 2 {
		d.worker(func(w *Client, it *Item) {
			if textOf(it) == "waits" {
				<-gate
			}
			echo(w, it)
		})
	}
	works = submitText(t, c, template(t, c, "f"), "waits")
	waitFor(t, "it runs", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, l := range c.submit.Leases {
			if l.Busy > 0 {
				busy = l
			}
		}
		return busy != nil
	})
	get(t, c, submitText(t, c, template(t, c, "g"), "x"))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.submit.Leases {
		if l != busy {
			idle = l
			l.IdleAt = time.Now().Add(time.Hour) // it is kept until the test says so
		}
	}
	if idle == nil {
		t.Fatal("no lease rests")
	}
	return works, func() { close(gate) }, busy, idle
}

// A lease that has nothing to do for long goes back; one that works, or that rests since a moment ago, stays.
func TestReturnIdle_OnlyWhatRestsForLong_GoesBack(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	ref, goOn, busy, idle := twoLeases(t, d, c)
	c.event((*submit.Submitter).ReturnIdle)
	c.mu.Lock()
	if len(c.submit.Leases) != 2 || c.submit.IdleLook.IsZero() || c.submit.IdleLook.Before(idle.IdleAt) {
		t.Errorf("%d leases are left; the next look is at %v", len(c.submit.Leases), c.submit.IdleLook)
	}
	idle.IdleAt, busy.IdleAt = time.Now().Add(-time.Hour), time.Now().Add(-time.Hour)
	c.mu.Unlock()
	c.event((*submit.Submitter).ReturnIdle)
	d.eventually("the one that rests goes back", func() bool { return slices.Equal(d.returned, []uint64{idle.ID}) })
	goOn()
	expectOutcome(t, c, "the task of the other one", ref, "waits", "")
	d.eventually("the other one goes back when it rests", func() bool { return slices.Equal(d.returned, []uint64{idle.ID, busy.ID}) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.submit.Leases) != 0 {
		t.Errorf("%d leases are left", len(c.submit.Leases))
	}
}

// A lease that rests and is wanted back goes at once; one that works does not.
func TestRecalled_OneRests_GoesAtOnce(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	ref, goOn, busy, idle := twoLeases(t, d, c)
	c.recalled(idle.ID)
	d.eventually("it goes back", func() bool { return slices.Equal(d.returned, []uint64{idle.ID}) })
	c.recalled(idle.ID) // it is no lease any more
	c.recalled(busy.ID)
	goOn()
	expectOutcome(t, c, "the task of the other one", ref, "waits", "")
	d.eventually("the other one goes back after its task", func() bool { return slices.Equal(d.returned, []uint64{idle.ID, busy.ID}) })
}

// A lease of a class that nobody has goes back at once, and one that comes when the session has ended is nobody's.
func TestGranted_NobodyWantsIt_GoesBack(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	c.granted(&wire.LeaseGrant{ClassID: 99, LeaseID: 5})
	d.eventually("it goes back", func() bool { return slices.Equal(d.returned, []uint64{5}) })
	c.Close(0)
	c.granted(&wire.LeaseGrant{ClassID: 99, LeaseID: 6})
	if len(c.submit.Leases) != 0 {
		t.Error("a closed session has a lease")
	}
}

// A cancelled task whose worker dies is cancelled, and the next one runs elsewhere without a loss.
func TestRetryLost_CancelledTask_IsNotTriedAgain(t *testing.T) {
	d := startDaemon(t)
	begun, hang := make(chan struct{}, 1), make(chan struct{})
	worker := d.worker(func(*Client, *Item) {
		begun <- struct{}{}
		<-hang
	})
	t.Cleanup(func() { close(hang) }) // before the worker is closed
	c := d.driver()
	tm := retried(t, c, "f", 3)
	running, next := submitText(t, c, tm, "running"), submitText(t, c, retried(t, c, "f", 0), "next")
	<-begun
	if err := c.Cancel(running, false, false); err != nil {
		t.Fatal(err)
	}
	d.worker(echo)
	die(worker)
	expectOutcome(t, c, "the cancelled task", running, "", fault.TaskCancelled)
	expectOutcome(t, c, "the next task, which may run once", next, "next", "")
	letGo(t, c, running, next)
}

// An actor with alternatives takes what this process only keeps for tasks that may come.
func TestNewActor_WithAlternatives_LeasesWithoutWorkGoBackFirst(t *testing.T) {
	for _, alternatives := range []int{0, 1} {
		d := startDaemon(t)
		d.act(0, echoes)
		given := -1
		d.answers(wire.TActorCreate, func(*wire.Message) bool { given = len(d.returned); return false })
		c := d.driver()
		ref, goOn, _, _ := twoLeases(t, d, c)
		s := oneActor()
		s.Fallback = make([]wire.Alternative, alternatives)
		if _, _, err := c.NewActor(s, &Value{Fmt: FmtNone}, nil); err != nil {
			t.Fatal(err)
		}
		d.eventually("the actor is registered", func() bool { return given >= 0 })
		d.mu.Lock()
		if given != alternatives {
			t.Errorf("with %d alternatives %d leases went back first", alternatives, given)
		}
		d.mu.Unlock()
		goOn()
		expectOutcome(t, c, "the task that runs", ref, "waits", "")
	}
}
