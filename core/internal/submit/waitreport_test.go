package submit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/waiting"
)

// Nobody looks any more when nothing waits, and not before something has waited for long.
func TestReportPending_NothingWaits_NobodyLooks(t *testing.T) {
	c := newQuiet(t)
	c.mu.Lock()
	c.watchPending()
	before := c.Looks
	c.reportPending()
	if !c.Armed || c.Looks != before+1 {
		t.Errorf("after a look at what has begun to wait: armed %v, %d looks", c.Armed, c.Looks-before)
	}
	c.Looks = before + waiting.Ticks
	c.reportPending()
	if c.Armed {
		t.Error("somebody looks again, though nothing waits")
	}
	from := c.Looks
	c.watchPending()
	c.Looks += 3
	c.watchPending() // it is armed already
	c.Looks = from + waiting.Ticks - 2
	if c.reportPending(); !c.Armed {
		t.Error("what began to wait a moment ago counts as long")
	}
	if c.reportPending(); c.Armed {
		t.Error("the second beginning counts, not the first")
	}
	c.mu.Unlock()
	c.mu.Lock()
	c.End(fault.New(fault.Closed, "over"))
	c.mu.Unlock()
	c.mu.Lock()
	c.Armed = false
	if c.watchPending(); c.Armed {
		t.Error("a closed session begins to look")
	}
	c.mu.Unlock()
}

// Actors of a class are told of together; those that live, are dead or have no calls do not wait.
func TestStillWaiting_Actors_OfAClassTogether(t *testing.T) {
	c := newQuiet(t)
	c.mu.Lock()
	defer func() { clear(c.Actors); c.mu.Unlock() }()
	add := func(name string, calls int, change func(*Actor)) ids.Actor {
		a := setActor(c.addActor(ids.NewActor(c.Job), name, 0), "asking", true)
		a.stuck = true
		for range calls {
			a.Queue.push(&Task{Template: &Template{Name: "A.m"}, actor: a})
		}
		if change != nil {
			change(a)
		}
		return a.ID
	}
	two := []ids.Actor{add("Two", 1, nil), add("Two", 5, nil)}
	one := add("One", 1, nil)
	add("Idle", 0, nil)
	add("Dead", 1, func(a *Actor) { setActor(a, "dead", fault.New(fault.ActorDied, "it died")) })
	add("Impossible", 1, func(a *Actor) { setActor(a, "bad", fault.New(fault.Internal, "it never runs")) })
	add("Lives", 1, func(a *Actor) { a.Channel = &Channel{} })
	c.Looks = waiting.Ticks - 1
	if reports, again := c.StillWaiting(time.Now()); len(reports) != 0 || !again {
		t.Errorf("before its time %d are reported, and again is %v", len(reports), again)
	}
	c.Looks++
	reports, again := c.StillWaiting(time.Now())
	if len(reports) != 2 || !again || reports[0].Subject() != "actor One" || reports[1].Subject() != "2 actors Two" {
		t.Fatalf("%d reports, again %v", len(reports), again)
	}
	if ids.Actor(reports[0].Ask.ActorID) != one || !slices.Contains(two, ids.Actor(reports[1].Ask.ActorID)) {
		t.Error("the daemon is asked about another actor")
	}
	for id, a := range c.Actors {
		if waits := a.Name() == "One" || a.Name() == "Two"; a.stuck != waits {
			t.Errorf("actor %s of class %s waits: %v", id, a.Name(), a.stuck)
		}
	}
	for _, id := range append(two, one) {
		delete(c.Actors, id)
	}
	if reports, again := c.StillWaiting(time.Now()); len(reports) != 0 || again {
		t.Errorf("when nothing waits %d are reported, and again is %v", len(reports), again)
	}
}

// Of a task that waits for an argument the user is told what that waits for.
func TestDescribe_SaysWhatAnArgumentWaitsFor(t *testing.T) {
	c := newQuiet(t)
	c.mu.Lock()
	defer func() { c.Delayed = nil; c.mu.Unlock() }()
	now := time.Now()
	one := func(k *Task) *refs.Object {
		o := c.table.New(1, 1)
		if k != nil {
			k.Template = &Template{Name: "f", Class: &Class{}}
			o.SetSource(k)
		}
		return o
	}
	late := &Task{}
	c.Delayed = map[*Task]*Delay{late: {since: now, until: now.Add(time.Hour), why: "it crashed"}}
	theirs := c.table.Borrow(ids.NewObject(4, ids.Owner{9}, c.Job, 1), "its owner")
	idle, runs, blocked := one(&Task{}), one(&Task{}), one(&Task{})
	TaskOf(runs.Source()).on = &Channel{Lease: &Lease{Busy: 1}}
	TaskOf(blocked.Source()).on = &Channel{Lease: &Lease{Busy: 1, Blocked: true}}
	call := one(&Task{on: &Channel{}})
	waits := one(&Task{Waiting: 1})
	busy := one(&Task{})
	TaskOf(busy.Source()).Template.Class.Leases = []*Lease{{Busy: 1}}
	lives, starts := one(&Task{actor: &Actor{Channel: &Channel{}}}), one(&Task{actor: &Actor{}})
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
	c := newQuiet(t)
	never := submitText(t, c, template(t, c, "never"), "")
	c.mu.Lock()
	value := c.table.New(0, 1)
	c.table.PutInline(value, []byte{1}, 1)
	ready := value.ID
	c.mu.Unlock()
	f, g := template(t, c, "f"), template(t, c, "g")
	for range 3 {
		submitText(t, c, f, "", ready, never)
	}
	waits := submitText(t, c, g, "", never)
	submitText(t, c, g, "", waits) // of whose argument the report about that argument tells
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var early, l waiting.List
	if some := c.waitingForArguments(&early, now); len(early.All) != 0 || !some {
		t.Errorf("before their time %d are reported, some %v", len(early.All), some)
	}
	c.Looks += waiting.Ticks
	some := c.waitingForArguments(&l, now)
	reports := l.All
	var got []string
	for _, r := range reports {
		got = append(got, r.Subject()+": "+r.Why)
		if !strings.HasPrefix(r.Why, "argument "+never.String()+" is computed by never,") {
			t.Errorf("%s: %s", r.Subject(), r.Why)
		}
	}
	if !some || len(got) != 2 || reports[0].Tasks+reports[1].Tasks != 4 {
		t.Errorf("reported %q, some %v", got, some)
	}
}
