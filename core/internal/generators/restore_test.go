package generators

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// A generator goes on in a successor when somebody wants what it makes or does. A list of
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
		{"items, wanted", frame.FlowStream, true, false, true, false, true},
		{"items, not wanted", frame.FlowStream, false, false, true, true, true},
		{"items, not wanted, for what it does", frame.FlowStream, false, true, true, false, true},
		{"items, wanted, for what it does", frame.FlowStream, true, true, true, false, true},
		{"a list, wanted", frame.FlowDynamic, true, false, false, false, false},
		{"a list, not wanted", frame.FlowDynamic, false, false, true, false, false},
	} {
		table, objects := newTable()
		install := func(n uint64, index uint32) *refs.Object {
			o := refs.Known(ids.NewObject(n, table.self, table.job, index), refs.Facts{State: refs.Inline})
			objects.Install(o)
			return o
		}
		items := []*refs.Object{install(11, 2), install(13, 4), install(14, 5)} // item 1 is gone, item 3 has not come
		if x.wanted {
			install(10, 1)
		}
		task := &call{x.what}
		s := table.Restore(task, 10, x.mode, Facts{Items: 3, GoOn: x.goOn})
		if s.own != 10 || s.task != task || s.got != 3 || s.goOn != x.goOn || s.left != x.left || s.quit != x.quit || s.again {
			t.Errorf("%s: %+v", x.what, s)
		}
		if (table.yielding[10] == s) != x.yielding {
			t.Errorf("%s: it is found as one that yields: %v", x.what, table.yielding[10] == s)
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
	}
}

// A generator that runs again for lost items makes those that are not there, and not those that are looked for.
func TestRestoreStream_RunsAgain_MakesWhatIsLost(t *testing.T) {
	table, objects := newTable()
	var items []*refs.Object
	for i, state := range []refs.State{refs.Inline, refs.Pending, refs.Pending} {
		o := refs.Known(ids.NewObject(11+uint64(i), table.self, table.job, uint32(i+2)), refs.Facts{State: state})
		objects.Install(o)
		items = append(items, o)
	}
	objects.VerifyLater(items[2])
	task := &call{"again"}
	s := table.Restore(task, 10, frame.FlowStream, Facts{Items: 3, Again: true, Makes: []uint64{1, 2, 3, 9}})
	if !s.again || !s.left || s.quit || s.got != 3 || table.yielding[10] != nil {
		t.Errorf("%+v", s)
	}
	for i, want := range []bool{false, true, false} {
		if got := items[i].Source() == task; got != want {
			t.Errorf("item %d is made by the run: %v, want %v", i, got, want)
		}
	}
	if got := lost(table, s); got != "[1]" {
		t.Errorf("the run makes the items %s, want 1", got)
	}
	items[1].SetSource(nil)
}

// A successor that takes over while several runs of generators go on counts the retries of each generator's runs
// together, and a second run knows what the first one yields from then on.
func TestJoinRuns_RunsOfTwoGenerators_EachKnowsItsFirstRun(t *testing.T) {
	table, _ := newTable()
	tried := func(g *Generator, n int32) *Generator { g.SetTried(n); return g }
	ended := tried(Finished(10, 2), 1)
	second := tried(table.Restore(&call{"second"}, 10, stream, Facts{Items: 3, Again: true}), 4)
	first := tried(table.Restore(&call{"first"}, 10, stream, Facts{Items: 3}), 2)
	other := tried(table.Restore(&call{"other"}, 500, stream, Facts{Items: 1}), 9)
	JoinRuns([]*Generator{ended, second, first, other})
	if first.first != nil || second.first != first || ended.first != first || other.first != nil {
		t.Error("the runs do not know their first run")
	}
	if got := fmt.Sprint(ended.Tried(), second.Tried(), first.Tried(), other.Tried()); got != "4 4 4 9" {
		t.Errorf("the runs count %s retries, want 4 4 4 9", got)
	}
	first.Came(3)
	second.SetTried(5)
	if second.Facts().Items != 4 || ended.Facts().Items != 4 || other.Facts().Items != 1 || first.Tried() != 5 {
		t.Errorf("after one more item and retry: %+v, %+v, %+v, %d retries", second.Facts(), ended.Facts(), other.Facts(), first.Tried())
	}
	if again := Again(&call{"again"}, second); again.root() != first || again.got != 4 || !again.left || !again.again {
		t.Errorf("a run after a second run: %+v", again)
	}
}
