package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// What a worker may have left in the store is freed when its task fails; a
// task that was never sent has left nothing.
func TestFreeWritten_OnlyWhatWasSent(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	result := func(first uint64, index uint32) string {
		id := ids.NewObject(first+uint64(index)-1, c.self, c.info.Job, index)
		return string(id[:])
	}
	told := 0
	d.mu.Lock()
	d.first = func(m *wire.Message) bool {
		if m.Type == wire.TObjFree {
			told++
		}
		return false
	}
	d.mu.Unlock()
	c.mu.Lock()
	c.freeWritten(&task{first: 100, returns: 1})
	c.freeWritten(&task{first: 150, returns: 0, seq: 1}) // a generator without a result of its own
	c.freeWritten(&task{first: 200, returns: 2, seq: 1})
	c.freeWritten(&task{first: 300, returns: 1, seq: 1})
	c.mu.Unlock()
	d.eventually("the results are freed", func() bool { return d.freed[result(200, 1)] && d.freed[result(200, 2)] && d.freed[result(300, 1)] })
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.freed) != 3 || told != 2 {
		t.Errorf("%d objects are freed by %d messages, want 3 by 2", len(d.freed), told)
	}
}

// The results of a task that could not be scheduled are awaited again once its
// arguments are there: there may be what it needs by now.
func TestDepReady_InfeasibleTask_IsAwaitedAgain(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	argument := submit(t, c, tm, "argument")
	out := submit(t, c, tm, "x", argument)
	c.mu.Lock()
	o := c.table.Find(out)
	waits := taskOf(o.Source())
	inState(o, refs.Infeasible)
	c.mu.Unlock()
	c.mu.Lock()
	waits.waiting = 2
	c.depReady(waits)
	if o.State() != refs.Infeasible || waits.waiting != 1 {
		t.Errorf("one of two arguments is there: state %v, %d are missing", o.State(), waits.waiting)
	}
	c.depReady(waits)
	if o.State() != refs.Pending {
		t.Errorf("both arguments are there: state %v, want pending", o.State())
	}
	c.mu.Unlock()
}

// What the program looks at in the store is told, as long as it looks.
func TestTally_ProgramLooksAtTheValue_IsTold(t *testing.T) {
	d := startDaemon(t)
	mine := d.sited("driver")
	id, err := mine.c.Put(&Value{Fmt: FmtBytes, Meta: make([]byte, 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if told(t, mine.c, id).Viewed {
		t.Error("nobody has looked at it")
	}
	f, err := mine.c.Get(id, 0)
	if err != nil || f == nil || f.View == 0 {
		t.Fatal(f, err)
	}
	if !told(t, mine.c, id).Viewed {
		t.Error("the program looks at it")
	}
	mine.c.Release(Drop{View: f.View})
	waitFor(t, "the view is given back", func() bool { return !told(t, mine.c, id).Viewed })
	mine.c.Release(Drop{Object: id})
}
