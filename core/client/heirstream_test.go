package client

import (
	"testing"

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
	c.restoreStream(task, &willTask{First: 10, Items: 3, Again: true})
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
