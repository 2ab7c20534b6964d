package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// An heir's generator goes on when somebody wants what it makes or does. A list of
// items holds what has come; items that come one by one had a reader that is gone.
func TestRestoreStream_EachKind_GoesOnAsLongAsItIsWanted(t *testing.T) {
	for _, x := range []struct {
		what     string
		mode     int
		wanted   bool // somebody has a reference to the generator
		goOn     bool
		left     bool // what comes is not kept
		quit     bool
		yielding bool
	}{
		{"items, wanted", FlowStream, true, false, true, false, true},
		{"items, not wanted", FlowStream, false, false, true, true, true},
		{"items, not wanted, for what it does", FlowStream, false, true, true, false, true},
		{"items, wanted, for what it does", FlowStream, true, true, true, false, true},
		{"a list, wanted", FlowDynamic, true, false, false, false, false},
		{"a list, not wanted", FlowDynamic, false, false, true, false, false},
	} {
		h := heirOf(t, new(will))
		c := h.c
		install := func(n uint64, index uint32) *refs.Object {
			o := refs.Known(ids.NewObject(n, c.self, c.info.Job, index), refs.Facts{State: refs.Inline})
			c.table.Install(o)
			return o
		}
		items := []*refs.Object{install(11, 2), install(13, 4), install(14, 5)} // item 1 is gone, item 3 has not come
		if x.wanted {
			install(10, 1)
		}
		task := &task{first: 10, returns: 1, tmpl: &Template{Flow: Flow{Mode: x.mode}}}
		c.restoreStream(task, &willTask{First: 10, Items: 3, GoOn: x.goOn})
		s := task.stream
		if s == nil || s.gen != 10 || s.task != task || s.got != 3 || s.goOn != x.goOn || s.left != x.left || s.quit != x.quit || s.again {
			t.Errorf("%s: %+v", x.what, s)
		}
		if (c.yielding[10] == task) != x.yielding {
			t.Errorf("%s: it is found as one that yields: %v", x.what, c.yielding[10] == task)
		}
		for i, o := range items {
			want := 0
			if !x.left && i < 2 {
				want = 1
			}
			if int(o.Pins()) != want {
				t.Errorf("%s: item %d has %d pins, want %d", x.what, i, o.Pins(), want)
			}
		}
		delete(c.yielding, 10)
	}
}

// A generator that runs again for lost items makes those that are not there, and not those that are looked for.
func TestRestoreStream_RunsAgain_MakesWhatIsLost(t *testing.T) {
	h := heirOf(t, new(will))
	c := h.c
	var items []*refs.Object
	for i, state := range []refs.State{refs.Inline, refs.Pending, refs.Pending} {
		o := refs.Known(ids.NewObject(11+uint64(i), c.self, c.info.Job, uint32(i+2)), refs.Facts{State: state})
		c.table.Install(o)
		items = append(items, o)
	}
	c.table.VerifyLater(items[2])
	task := &task{first: 10, returns: 1, tmpl: &Template{Flow: Flow{Mode: FlowStream}}}
	c.restoreStream(task, &willTask{First: 10, Items: 3, Again: true, Makes: []uint64{1, 2, 3, 9}})
	if s := task.stream; !s.again || !s.left || s.quit || s.got != 3 || c.yielding[10] != nil {
		t.Errorf("%+v", s)
	}
	for i, want := range []bool{false, true, false} {
		if got := items[i].Source() == task; got != want {
			t.Errorf("item %d is made by the run: %v, want %v", i, got, want)
		}
	}
	// A fault of the run is that of the items that it was to make, and of no others.
	var reached []int
	c.eachReturn(task, func(i int, _ *refs.Object) { reached = append(reached, i) })
	if len(reached) != 1 || reached[0] != 2 {
		t.Errorf("the run makes the results %v, want 2, which is item 1", reached)
	}
	items[1].SetSource(nil)
}

// Several runs of one generator may go on at once, each for other lost items. An heir gives each its own items.
func TestHeir_TwoSecondRunsOfOneGenerator_EachMakesItsOwnItems(t *testing.T) {
	x := writesWill(t)
	tm := &Template{Flow: Flow{Mode: FlowStream}}
	first := x.table.New(1, 1).ID.Count()
	x.table.Reserve(3)
	second, third := &task{tmpl: tm, first: first, returns: 1}, &task{tmpl: tm, first: first, returns: 1}
	for i, k := range []*task{second, third, second} {
		o := x.table.Place(first+1+uint64(i), uint32(i+2))
		x.table.Pin(o)
		o.SetSource(k)
	}
	v := &inventory{c: x.Client, w: new(will)}
	h := heirOf(t, new(will))
	for i := range 3 {
		o := refs.Known(ids.NewObject(first+1+uint64(i), h.c.self, h.c.info.Job, uint32(i+2)), refs.Facts{State: refs.Pending})
		h.c.table.Install(o)
	}
	for _, k := range []*task{third, second} {
		k.stream = &stream{gen: first, task: k, got: 3, left: true, again: true}
		y := v.written(k, taskSent)
		got := &task{tmpl: tm, first: first, returns: 1}
		h.c.restoreStream(got, &y)
		var makes []uint64
		h.c.eachLost(got, func(i uint64, o *refs.Object) { makes = append(makes, i) })
		want := []uint64{0, 2}
		if k == third {
			want = []uint64{1}
		}
		if !slices.Equal(makes, want) {
			t.Errorf("a run makes the items %v in the heir, want %v", makes, want)
		}
	}
}

// A second run that nothing can execute for now says so of the items that it is to make, and makes them when something can.
func TestInfeasible_SecondRunOfAGenerator_ItsItemsComeLater(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.table.New(1, 1).ID.Count()
	c.table.Reserve(1)
	o := c.table.Place(first+1, 2)
	c.table.Pin(o)
	k := &task{tmpl: &Template{Flow: Flow{Mode: FlowStream}}, first: first, returns: 1}
	k.stream = &stream{gen: first, task: k, got: 1, left: true, again: true}
	o.SetSource(k)
	c.infeasible(k, fault.New(fault.TaskUnschedulable, "no node has it"))
	if o.State() != refs.Infeasible || !c.makesItems(k) {
		t.Errorf("the item is in state %d, and the run makes it: %v", o.State(), c.makesItems(k))
	}
	c.eachReturn(k, func(_ int, o *refs.Object) { c.table.Feasible(o) })
	if o.State() != refs.Pending {
		t.Errorf("the item is in state %d when the run can be executed", o.State())
	}
	o.SetSource(nil)
}

// What an item tells says how many references of a generator travel, and of which kind it is.
func TestGeneratorReturns_KindAndSizeOfGroups_AreTold(t *testing.T) {
	for _, x := range []struct {
		f    Flow
		want int
	}{
		{Flow{Mode: FlowStream}, -1},
		{Flow{Mode: FlowStream, Each: 1}, -1},
		{Flow{Mode: FlowStream, Each: 2}, -3},
		{Flow{Mode: FlowDynamic}, -2},
		{Flow{Mode: FlowDynamic, Each: 3}, -6},
	} {
		if got := generatorReturns(x.f); got != x.want {
			t.Errorf("%+v: %d, want %d", x.f, got, x.want)
		}
	}
}
