package client

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// told is what a process says of one object.
func told(t *testing.T, c *Client, id ids.Object) wire.Held {
	t.Helper()
	all := c.tally(&wire.CensusAsk{Limit: 1000, Objects: true})
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

func TestTally_EachWayToHold_IsCountedApart(t *testing.T) {
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
	tasks := mine.c.tally(&wire.CensusAsk{Limit: 10, Tasks: true})
	if len(tasks.Tasks) != 1 || tasks.Open != 1 || tasks.Tasks[0].Name != "f" || tasks.Tasks[0].State != wire.TaskWaitsForNode {
		t.Errorf("tasks: %+v", tasks)
	}
	d.worker(echo)
	mine.check(t, first, "z")
	tasks = mine.c.tally(&wire.CensusAsk{Limit: 10, Tasks: true})
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

func TestTally_MoreThanTheLimit_LargestFirstAndCounted(t *testing.T) {
	d := startDaemon(t)
	m := d.member(t, wire.RoleDriver)
	for i := range 50 {
		m.put(t, fmt.Sprintf("%*d", i+1, i))
	}
	got := m.c.tally(&wire.CensusAsk{Limit: 3, Objects: true})
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

// What an heir has inherited still knows where it was made.
func TestTally_OfAnHeir_SitesAndFunctionsAreKept(t *testing.T) {
	d := startDaemon(t)
	owner, friend := d.sited(wire.RoleWorker), d.sited(wire.RoleDriver)
	id, err := owner.c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x"), Site: 5})
	if err != nil {
		t.Fatal(err)
	}
	owner.refs[id]++
	owner.give(t, id, friend)
	owner.c.mu.Lock()
	w := &will{}
	(&inventory{c: owner.c, w: w, serves: map[ids.Owner]bool{}}).references()
	owner.c.mu.Unlock()
	if got := installed(t, d.sited(wire.RoleSuccessor).c, w); got.Site != "(put object) | line 5" || got.Maker != "" {
		t.Errorf("inherited: %+v", got)
	}
}

// installed says what an heir tells of a will's first object.
func installed(t *testing.T, c *Client, w *will) wire.Held {
	t.Helper()
	c.mu.Lock()
	err := (&heir{c: c, w: w}).objects()
	c.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	id, err := ids.ParseObject(w.Objects[0].ID)
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
	fid := c.tmpls[tm].FID
	var results []ids.Object
	for range 3 {
		id, _, err := c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte("z")}})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, id)
	}
	c.Forget(fid)
	if c.tmpls[tm].open != 3 || !c.tmpls[tm].Forget {
		t.Fatalf("open %d, to be forgotten %t", c.tmpls[tm].open, c.tmpls[tm].Forget)
	}
	var err error
	if err = c.call(wire.TObjStats, nil, &wire.ObjStats{}); err != nil || d.forgets() != 0 {
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

func TestTally_ManyMoreThanTheLimit_AreTheLargest(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	for i := range 5000 { // sizes in no order, and each several times
		if _, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, i*7919%1000)}}); err != nil {
			t.Fatal(err)
		}
	}
	const limit = 100
	got := c.tally(&wire.CensusAsk{Limit: limit, Objects: true})
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*refs.Object
	c.table.Each(func(o *refs.Object) bool {
		all = append(all, o)
		return true
	})
	sortObjects(all)
	if len(got.Objects) != limit || got.Looked != len(all) {
		t.Fatalf("%d rows of %d objects, want %d of %d", len(got.Objects), got.Looked, limit, len(all))
	}
	for i, row := range got.Objects {
		if !bytes.Equal(row.ObjectID, all[i].ID[:]) {
			t.Fatalf("row %d is %x, want %s", i, row.ObjectID, all[i].ID)
		}
	}
}
