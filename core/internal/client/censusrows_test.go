package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// rows are the tasks that a process tells of.
func rows(c *Client, limit int) []wire.TaskRow {
	return c.answerCensus(&wire.CensusAsk{Tasks: true, Limit: limit}).Tasks
}

// Each task without an answer is told once, wherever it is and whether somebody holds its result or not;
// a limit bounds how many are told.
func TestCensusTasks_InEveryPlace_EachOnceUpToTheLimit(t *testing.T) {
	d := startDaemon(t)
	gate := make(chan struct{})
	begun := make(chan struct{}, 10)
	run := func(w *Client, it *Item) {
		begun <- struct{}{}
		<-gate
		echo(w, it)
	}
	d.worker(run)
	d.act(0, func(_ uint64, w *Client, it *Item) { run(w, it) })
	m := d.sited(wire.RoleDriver)
	c := m.c
	late, _ := pendingObjects(c, 1)
	var gone []ids.Object
	want := map[string]string{} // its name and state
	add := func(name, state string, ref ids.Object, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		want[name] = state
		gone = append(gone, ref)
	}
	task := func(name, state string, deps ...ids.Object) {
		t.Helper()
		ref, _, err := c.Submit(&Call{Template: template(t, c, name), Args: Value{Fmt: FmtPickle, Meta: []byte("x"), Site: 3}, Deps: deps})
		add(name, state, ref, err)
	}
	task("runs", wire.TaskSubmitted)
	<-begun
	for i := range 3 {
		task(fmt.Sprint("waits for a node ", i), wire.TaskWaitsForNode)
	}
	task("waits for arguments", wire.TaskWaitsForArguments, *late[0])
	call := func(id ids.Actor, name, state string) {
		t.Helper()
		tm, err := c.NewTemplate(&Template{Kind: KindMethod, Name: name, Method: "m", Returns: 1})
		if err != nil {
			t.Fatal(err)
		}
		ref, _, err := c.CallActor(id, &Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte("x")}})
		add(name, state, ref, err)
	}
	id := newActor(t, c, ActorSpec{})
	call(id, "A.runs", wire.TaskSubmitted)
	<-begun
	unborn, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, []ids.Object{*late[0]})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		call(unborn, fmt.Sprint("A.waits ", i), wire.TaskWaitsForActor)
	}
	for _, held := range []bool{true, false} {
		if !held {
			for _, ref := range gone {
				if !slices.Contains(gone[4:5], ref) { // of a task that waits for arguments and whose result nobody holds nothing is known here
					c.Release(Drop{Object: ref})
				}
			}
			c.mu.Lock()
			c.TakeDrops()
			c.mu.Unlock()
		}
		got := rows(c, 100)
		if len(got) != len(want) {
			t.Errorf("results held %v: %d tasks are told, want %d", held, len(got), len(want))
		}
		for _, r := range got {
			if r.State != want[r.Name] {
				t.Errorf("results held %v: %s is %q, want %q", held, r.Name, r.State, want[r.Name])
			}
			calls := r.Name[:2] == "A."
			if r.Method != calls || (len(r.ActorID) > 0) != calls || (r.LeaseID > 0) != (r.Name == "runs") {
				t.Errorf("results held %v: %+v", held, r)
			}
			if held && !calls && r.Site != fmt.Sprintf("(task call) %s | line 3", r.Name) {
				t.Errorf("%s was called at %q", r.Name, r.Site)
			}
		}
		for limit := range len(want) + 2 {
			if n := len(rows(c, limit)); n != min(limit, len(want)) {
				t.Errorf("results held %v: with limit %d there are %d rows", held, limit, n)
			}
		}
	}
	close(gate)
}

// A process tells what it runs, and the process of an actor which one it is.
func TestCensus_OfAnActorThatRunsACall_TellsBoth(t *testing.T) {
	d := startDaemon(t)
	begun, gate := make(chan *Item), make(chan struct{})
	a := d.act(0, func(_ uint64, w *Client, it *Item) {
		begun <- it
		<-gate
		echo(w, it)
	})
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	callActor(t, c, id, method(t, c, 0), "x")
	it := <-begun
	d.eventually("the actor lives", func() bool { return a.alive })
	got := a.worker.answerCensus(&wire.CensusAsk{Tasks: true, Limit: 10})
	if string(got.ActorID) != string(id[:]) || len(got.Runs) != 1 || string(got.Runs[0].TaskID) != string(it.TaskID[:]) || got.Runs[0].StartedMs == 0 {
		t.Errorf("the actor's process tells %+v", got)
	}
	if mine := c.answerCensus(&wire.CensusAsk{Tasks: true, Limit: 10}); len(mine.ActorID) != 0 || len(mine.Runs) != 0 {
		t.Errorf("the driver tells %+v", mine)
	}
	close(gate)
	d.eventually("the call has ended", func() bool { return len(a.worker.answerCensus(&wire.CensusAsk{Tasks: true, Limit: 10}).Runs) == 0 })
}

// What a reply refers to is held for who has not confirmed it, and counted as that, not as a task's.
func TestCensus_ReplyThatIsNotConfirmed_IsCountedApart(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	ref := putBytes(t, c, 10, 1)
	c.mu.Lock()
	o := c.table.Find(ref)
	for range 2 {
		c.table.Pin(o)
		c.table.HoldResult(refs.TaskSocket{Caller: ids.Owner{1}}, []*refs.Object{o})
	}
	c.table.Pin(o) // a task's
	c.mu.Unlock()
	if got := told(t, c, ref); got.Replies != 2 || got.Tasks != 1 || got.Local != 1 {
		t.Errorf("told %+v, want two replies and one task", got)
	}
}
