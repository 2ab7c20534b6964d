package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// later has the session look at what waits, as if it had waited for long, and returns what the user is told.
func later(t *testing.T, c *Client) (told []string) {
	t.Helper()
	c.mu.Lock()
	c.looks += pendingTicks
	for _, k := range c.classes {
		k.since = k.since.Add(-pendingAfter)
	}
	reports := c.look()
	c.mu.Unlock()
	c.report(reports)
	for n := c.NextNote(0); n != nil; n = c.NextNote(0) {
		told = append(told, n.Warning)
	}
	slices.Sort(told)
	return told
}

// Of what waits for long the user is told how many there are and why, as the daemon says, once a minute.
func TestReportPending_SaysHowManyAndWhy_OnceAMinute(t *testing.T) {
	d := startDaemon(t)
	answer := func(m *wire.Message) error { return m.Reply("there is no GPU") }
	var asked []wire.ClassTrouble
	d.answers(wire.TWhoHolds, func(m *wire.Message) bool {
		var q wire.ClassTrouble
		_ = m.Decode(&q)
		asked = append(asked, q)
		_ = answer(m)
		return true
	})
	c := d.driver()
	waits := func(name string, n int) {
		tm := template(t, c, name)
		for range n {
			submit(t, c, tm, "x")
		}
	}
	waits("f", 1)
	expectTold := func(what string, want ...string) {
		t.Helper()
		if got := later(t, c); !slices.Equal(got, want) {
			t.Errorf("%s: the user is told %q, want %q", what, got, want)
		}
	}
	expectTold("one task", "task f has waited for more than 10s: there is no GPU")
	class := onlyClass(t, c).id
	d.mu.Lock()
	if len(asked) != 1 || asked[0].ClassID != class || asked[0].ActorID != nil {
		t.Errorf("the daemon is asked %+v", asked)
	}
	d.mu.Unlock()
	expectTold("the same again")
	waits("g", 2)
	expectTold("others", "2 tasks g have waited for more than 10s: there is no GPU")
	d.mu.Lock()
	answer = func(m *wire.Message) error { return m.Fail(fault.New(fault.Internal, "nobody knows")) }
	d.mu.Unlock()
	waits("h", 1)
	expectTold("the daemon cannot say why", "task h has waited for more than 10s: nobody knows")
	d.mu.Lock()
	answer = func(m *wire.Message) error { return m.Reply("") }
	d.mu.Unlock()
	waits("i", 1)
	expectTold("it has begun meanwhile")
	c.mu.Lock()
	for key, at := range c.reported {
		c.reported[key] = at.Add(-pendingAgain)
	}
	for _, k := range c.classes {
		if k.name != "f" {
			k.bad = fault.New(fault.Internal, "it can never run") // its tasks are told so
		}
	}
	c.mu.Unlock()
	d.mu.Lock()
	answer = func(m *wire.Message) error { return m.Reply("there is no GPU") }
	d.mu.Unlock()
	expectTold("a minute later", "task f has waited for more than 10s: there is no GPU")
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.pendingArmed {
		t.Error("nobody looks again, though tasks wait")
	}
}

// Nobody looks any more when nothing waits, and not before something has waited for long.
func TestReportPending_NothingWaits_NobodyLooks(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	c.watchPending()
	before := c.looks
	c.mu.Unlock()
	c.event((*submitter).reportPending)
	c.mu.Lock()
	if !c.pendingArmed || c.looks != before+1 {
		t.Errorf("after a look at what has begun to wait: armed %v, %d looks", c.pendingArmed, c.looks-before)
	}
	c.looks = c.pendingFrom + pendingTicks
	c.mu.Unlock()
	c.event((*submitter).reportPending)
	c.mu.Lock()
	if c.pendingArmed {
		t.Error("somebody looks again, though nothing waits")
	}
	from := c.looks
	c.watchPending()
	c.looks += 3
	c.watchPending() // it is armed already
	if !c.pendingArmed || c.pendingFrom != from {
		t.Errorf("armed %v since look %d, want %d", c.pendingArmed, c.pendingFrom, from)
	}
	c.mu.Unlock()
	c.Close(0)
	c.event((*submitter).reportPending) // the timer may have rung
	if c.looks != from+3 {
		t.Error("a closed session looks at what waits")
	}
	c.mu.Lock()
	c.pendingArmed = false
	if c.watchPending(); c.pendingArmed {
		t.Error("a closed session begins to look")
	}
	c.mu.Unlock()
}

func TestWaitReport_Subject_CountsActorsAndTasks(t *testing.T) {
	for want, r := range map[string]waitReport{
		"actor A has":       {name: "A", actors: 1},
		"2 actors A have":   {name: "A", actors: 2},
		"task f has":        {name: "f", tasks: 1},
		"2 tasks f have":    {name: "f", tasks: 2},
		"1000 tasks f have": {name: "f", tasks: 1000},
	} {
		if got := r.subject() + " " + r.have(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Actors of a class are told of together; those that live, are dead or have no calls do not wait.
func TestStillWaiting_Actors_OfAClassTogether(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer func() { clear(c.actors); c.mu.Unlock() }()
	add := func(name string, calls int, change func(*actor)) ids.Actor {
		a := &actor{id: ids.NewActor(c.info.Job), name: name, asking: true, stuck: true}
		for range calls {
			a.queue.push(&task{tmpl: &Template{Name: "A.m"}, actor: a})
		}
		if change != nil {
			change(a)
		}
		c.actors[a.id] = a
		return a.id
	}
	two := []ids.Actor{add("Two", 1, nil), add("Two", 5, nil)}
	one := add("One", 1, nil)
	add("Idle", 0, nil)
	add("Dead", 1, func(a *actor) { a.dead = fault.New(fault.ActorDied, "it died") })
	add("Impossible", 1, func(a *actor) { a.bad = fault.New(fault.Internal, "it never runs") })
	add("Lives", 1, func(a *actor) { a.conn = &outConn{} })
	c.looks = pendingTicks - 1
	if reports, again := c.stillWaiting(time.Now()); len(reports) != 0 || !again {
		t.Errorf("before its time %d are reported, and again is %v", len(reports), again)
	}
	c.looks++
	reports, again := c.stillWaiting(time.Now())
	if len(reports) != 2 || !again || reports[0].subject() != "actor One" || reports[1].subject() != "2 actors Two" {
		t.Fatalf("%d reports, again %v", len(reports), again)
	}
	if ids.Actor(reports[0].ask.ActorID) != one || !slices.Contains(two, ids.Actor(reports[1].ask.ActorID)) {
		t.Error("the daemon is asked about another actor")
	}
	for id, a := range c.actors {
		if waits := a.name == "One" || a.name == "Two"; a.stuck != waits {
			t.Errorf("actor %s of class %s waits: %v", id, a.name, a.stuck)
		}
	}
	for _, id := range append(two, one) {
		delete(c.actors, id)
	}
	if reports, again := c.stillWaiting(time.Now()); len(reports) != 0 || again {
		t.Errorf("when nothing waits %d are reported, and again is %v", len(reports), again)
	}
}

// Of a task that waits for an argument the user is told what that waits for.
func TestDescribe_SaysWhatAnArgumentWaitsFor(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer func() { c.delayed = nil; c.mu.Unlock() }()
	now := time.Now()
	one := func(k *task) *refs.Object {
		o := c.table.New(1, 1)
		if k != nil {
			k.tmpl = &Template{Name: "f", class: &class{}}
			o.SetSource(k)
		}
		return o
	}
	late := &task{}
	c.delayed = map[*task]*delay{late: {since: now, until: now.Add(time.Hour), why: "it crashed"}}
	theirs := c.table.Borrow(ids.NewObject(4, ids.Owner{9}, c.info.Job, 1), "its owner")
	idle, runs, blocked := one(&task{}), one(&task{}), one(&task{})
	taskOf(runs.Source()).on = &outConn{lease: &lease{busy: 1}}
	taskOf(blocked.Source()).on = &outConn{lease: &lease{busy: 1, blocked: true}}
	call := one(&task{on: &outConn{}})
	waits := one(&task{waiting: 1})
	busy := one(&task{})
	taskOf(busy.Source()).tmpl.class.leases = []*lease{{busy: 1}}
	lives, starts := one(&task{actor: &actor{conn: &outConn{}}}), one(&task{actor: &actor{}})
	for _, x := range []struct {
		what   string
		o      *refs.Object
		coming bool
		words  string
	}{
		{"another process's", theirs, false, "is not ready; the process at its owner owns it"},
		{"nobody computes it", one(nil), false, "is not ready"},
		{"its task waits for a retry", one(late), false, "is computed by f, which is tried again in 1h0m0s: it crashed"},
		{"its task runs", runs, true, "is computed by f, which runs"},
		{"its task runs and waits", blocked, false, "is computed by f, which runs"},
		{"its call runs", call, true, "is computed by f, which runs"},
		{"its task waits for an argument", waits, true, "is computed by f, which waits for an argument, too"},
		{"its task waits for a worker", idle, false, "is computed by f, which has not started"},
		{"its task is in a queue that moves", busy, true, "is computed by f, which has not started"},
		{"its call is sent soon", lives, true, "is computed by f, which has not started"},
		{"its actor has not started", starts, false, "is computed by f, which has not started"},
	} {
		if got, want := c.describe(x.o), fmt.Sprintf("%s %s", x.o.ID, x.words); got != want {
			t.Errorf("%s: %q, want %q", x.what, got, want)
		}
		if got := c.isComing(x.o); got != x.coming {
			t.Errorf("%s: it is coming: %v", x.what, got)
		}
	}
}

// Tasks of one function that wait for arguments are told of together, with the first argument that is late.
func TestWaitingForArguments_OfAFunctionTogether(t *testing.T) {
	c := startDaemon(t).driver()
	never := submit(t, c, template(t, c, "never"), "")
	ready, err := c.Put(&Value{Fmt: FmtNone})
	if err != nil {
		t.Fatal(err)
	}
	f, g := template(t, c, "f"), template(t, c, "g")
	for range 3 {
		submit(t, c, f, "", ready, never)
	}
	waits := submit(t, c, g, "", never)
	submit(t, c, g, "", waits) // of whose argument the report about that argument tells
	c.mu.Lock()
	defer c.mu.Unlock()
	if reports, some := c.waitingForArguments(); len(reports) != 0 || !some {
		t.Errorf("before their time %d are reported, some %v", len(reports), some)
	}
	c.looks += pendingTicks
	reports, some := c.waitingForArguments()
	var got []string
	for _, r := range reports {
		got = append(got, r.subject()+": "+r.why)
		if !strings.HasPrefix(r.why, "argument "+never.String()+" is computed by never,") {
			t.Errorf("%s: %s", r.subject(), r.why)
		}
	}
	if !some || len(got) != 2 || reports[0].tasks+reports[1].tasks != 4 {
		t.Errorf("reported %q, some %v", got, some)
	}
}
