package client

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// told is what a process says of one object.
func told(t *testing.T, c *Client, id ids.Object) wire.Held {
	t.Helper()
	all := c.answerCensus(&wire.CensusAsk{Limit: 1000, Objects: true})
	i := slices.IndexFunc(all.Objects, func(h wire.Held) bool { return string(h.ObjectID) == string(id[:]) })
	if i < 0 {
		t.Fatalf("%s is not told", id)
	}
	return all.Objects[i]
}

// sited connects a process whose lines have the names of their numbers.
func (d *fakeDaemon) sited(role string) *member {
	d.t.Helper()
	c, err := Connect(Options{Socket: d.sock(), Role: role, Token: "t", Site: func(n uint32) string { return fmt.Sprintf("line %d", n) }})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close(0) })
	return &member{c, map[ids.Object]int{}}
}

func TestCensus_EachWayToHold_IsCountedApart(t *testing.T) {
	d := startDaemon(t)
	mine, other := d.sited(wire.RoleDriver), d.sited(wire.RoleDriver)
	inner, err := mine.c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x"), Site: 7})
	if err != nil {
		t.Fatal(err)
	}
	mine.refs[inner]++
	outer := mine.put(t, "y", inner)
	mine.give(t, inner, other)
	tm := template(t, mine.c, "f")
	first, _, err := mine.c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte("z"), Nested: []ids.Object{inner}, Site: 9}})
	if err != nil {
		t.Fatal(err)
	}
	got := told(t, mine.c, inner)
	if got.Local != 1 || got.Tasks != 1 || got.Captured != 1 || len(got.Borrowers) != 1 || !got.Owned || got.State != "inline" || got.Site != "(put object) | line 7" {
		t.Errorf("the inner one: %+v", got)
	}
	if got := told(t, other.c, inner); got.Owned || got.Local != 1 || got.Size != -1 {
		t.Errorf("borrowed: %+v", got)
	}
	if got := told(t, mine.c, first); got.State != "pending" || got.Maker != "f" || got.Site != "(task call) f | line 9" || got.TaskState != wire.TaskWaitsForNode {
		t.Errorf("a task's: %+v", got)
	}
	tasks := mine.c.answerCensus(&wire.CensusAsk{Limit: 10, Tasks: true})
	if len(tasks.Tasks) != 1 || tasks.Open != 1 || tasks.Tasks[0].Name != "f" || tasks.Tasks[0].State != wire.TaskWaitsForNode {
		t.Errorf("tasks: %+v", tasks)
	}
	d.worker(echo)
	mine.check(t, first, "z")
	tasks = mine.c.answerCensus(&wire.CensusAsk{Limit: 10, Tasks: true})
	if len(tasks.Tasks) != 0 || len(tasks.Ended) != 1 || tasks.Ended[0].State != wire.TaskFinished || tasks.ByMaker[0].Finished != 1 {
		t.Errorf("afterwards: %+v", tasks)
	}
	mine.drop(inner)
	mine.drop(outer)
	if got := told(t, mine.c, inner); got.Local+got.Tasks+got.Captured != 0 || len(got.Borrowers) != 1 {
		t.Errorf("only borrowed: %+v", got)
	}
	other.drop(inner)
	waitFor(t, "it is gone", func() bool { owned, _ := mine.c.Holds(); return owned == 1 })
}

func TestCensus_MoreThanTheLimit_LargestFirstAndCounted(t *testing.T) {
	d := startDaemon(t)
	m := d.member(t, wire.RoleDriver)
	for i := range 50 {
		m.put(t, fmt.Sprintf("%*d", i+1, i))
	}
	got := m.c.answerCensus(&wire.CensusAsk{Limit: 3, Objects: true})
	if len(got.Objects) != 3 || got.Owned != 50 || got.Looked != 50 {
		t.Fatalf("%d rows of %d, %d looked at", len(got.Objects), got.Owned, got.Looked)
	}
	for i := range 2 {
		if got.Objects[i].Size <= got.Objects[i+1].Size {
			t.Errorf("row %d has %d bytes, the next %d", i, got.Objects[i].Size, got.Objects[i+1].Size)
		}
	}
	m.c.Close(time.Second)
}

// A successor still knows where the objects that it has taken over were made.
func TestCensus_OfASuccessor_SitesAndFunctionsAreKept(t *testing.T) {
	d := startDaemon(t)
	owner, friend := d.sited(wire.RoleWorker), d.sited(wire.RoleDriver)
	id, err := owner.c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x"), Site: 5})
	if err != nil {
		t.Fatal(err)
	}
	owner.refs[id]++
	owner.give(t, id, friend)
	owner.c.mu.Lock()
	v := &capture{c: owner.c}
	v.references(nil)
	owner.c.mu.Unlock()
	if got := installed(t, d.sited(wire.RoleSuccessor).c, &v.snapshot); got.Site != "(put object) | line 5" || got.Maker != "" {
		t.Errorf("the successor says %+v", got)
	}
}

// installed says what a successor tells of a snapshot's first object.
func installed(t *testing.T, c *Client, w *handover.Snapshot) wire.Held {
	t.Helper()
	c.mu.Lock()
	err := c.table.Restore(&w.Refs, &c.sites)
	c.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	id, err := ids.ParseObject(w.Refs.Objects[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return told(t, c, id)
}

// A function that captured references is let go of by workers when nobody can
// call it any more and the last of its tasks has ended, not before.
func TestForget_TasksUnderWay_ToldAfterTheLast(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	fid := c.submit.Templates[tm].FID
	var results []ids.Object
	for range 3 {
		id, _, err := c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte("z")}})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, id)
	}
	c.Forget(fid)
	if c.submit.Templates[tm].Open != 3 || !c.submit.Templates[tm].Forget {
		t.Fatalf("open %d, to be forgotten %t", c.submit.Templates[tm].Open, c.submit.Templates[tm].Forget)
	}
	var err error
	if err = c.CallDaemon(wire.TObjStats, nil, &wire.ObjStats{}); err != nil || d.forgets() != 0 {
		t.Fatalf("told %d times with tasks under way (%v)", d.forgets(), err)
	}
	var forgot [][]byte
	w := d.worker(func(c *Client, it *Item) {
		if it.Kind == ItemForget {
			forgot = append(forgot, it.Blob)
			return
		}
		echo(c, it)
	})
	for _, id := range results {
		if f, err := c.Get(id, testLimit); err != nil || f == nil {
			t.Fatal(f, err)
		}
	}
	d.eventually("it is told", func() bool { return d.forgotten == 1 })
	w.mu.Lock()
	w.exec.Forget(fid)
	w.mu.Unlock()
	waitFor(t, "the program hears of it", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.exec.Counts().Forgets == 0 })
}

func (d *fakeDaemon) forgets() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.forgotten
}
