package submit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

// Several runs of one generator may go on at once, each for other lost items. A successor gives each its own items.
func TestSuccessor_TwoSecondRunsOfOneGenerator_EachMakesItsOwnItems(t *testing.T) {
	x := captured(t)
	tm := &Template{Flow: frame.Flow{Mode: frame.FlowStream}}
	first := x.table.New(1, 1).ID.Count()
	x.table.Reserve(3)
	second, third := &Task{Template: tm, First: first, Returns: 1}, &Task{Template: tm, First: first, Returns: 1}
	for i, k := range []*Task{second, third, second} {
		o := x.table.Place(first+1+uint64(i), uint32(i+2))
		x.table.Pin(o)
		o.SetSource(k)
	}
	v := &capture{c: &x.Submitter, s: new(snapshot.Submitter)}
	h := restoring(t)
	for i := range 3 {
		o := refs.Known(ids.NewObject(first+1+uint64(i), h.c.Self, h.c.Job, uint32(i+2)), refs.Facts{State: refs.Pending})
		h.c.table.Install(o)
	}
	for _, k := range []*Task{third, second} {
		k.Generator = generatorWith("own", first, "task", k, "got", 3, "left", true, "again", true)
		y := v.written(k, snapshot.PlaceSent)
		got := &Task{Template: tm, First: first, Returns: 1}
		got.Generator = h.c.Generators.Restore(got, first, frame.FlowStream, generators.Facts{Items: y.Items, GoOn: y.GoOn, Again: y.Again, Makes: y.Makes})
		var makes []uint64
		h.c.Generators.EachLost(got.Generator, func(i uint64, o *refs.Object) { makes = append(makes, i) })
		want := []uint64{0, 2}
		if k == third {
			want = []uint64{1}
		}
		if !slices.Equal(makes, want) {
			t.Errorf("a run makes the items %v in the successor, want %v", makes, want)
		}
	}
}

// A successor that takes over while two runs of a generator go on counts their retries together, and the
// second run knows what the first yields from then on.
func TestSuccessor_TakesOverDuringTwoRuns_TheyKnowEachOther(t *testing.T) {
	for _, order := range [][]bool{{false, true}, {true, false}} { // which of the tasks runs again
		h := restoring(t)
		c := h.c
		tm := &Template{Kind: frame.KindTask, Name: "g", Returns: 1, MaxRetries: 4, Flow: frame.Flow{Mode: frame.FlowStream}}
		var first, second *Task
		for i, again := range order {
			x, err := h.task(&snapshot.Task{First: 10, Returns: 1, Tries: int32(1 + i), Items: 3, Again: again}, tm)
			if err != nil {
				t.Fatal(err)
			}
			h.tasks = append(h.tasks, x)
			if again {
				second = x
			} else {
				first = x
			}
		}
		third := &Task{Template: tm, First: 10, Attempts: retry.Attempts{Tries: 1}, Generator: generatorWith("own", 10, "got", 2, "left", true)} // it has ended
		o := refs.Known(ids.NewObject(11, c.Self, c.Job, 2), refs.Facts{State: refs.Stored})
		c.table.Install(o)
		c.table.Record(refs.NewRecipe(third, nil), []*refs.Object{o})
		h.joinRuns()
		for i, x := range []*Task{second, first, third, second} {
			v := retry.Verdict{Used: retry.Attempts{Tries: x.Tried() + 1}}
			x.spend(&v)
			for what, y := range map[string]*Task{"first": first, "second": second, "ended": third} {
				if y.Tried() != int32(3+i) {
					t.Errorf("after try %d the %s run counts %d", 3+i, what, y.Tried())
				}
			}
		}
		for i := range uint64(4) {
			first.Generator.Came(3 + i)
		}
		if got := fmt.Sprint(second.Generator.Facts().Items, third.Generator.Facts().Items); got != "7 7" {
			t.Errorf("the other runs know of %s items, want 7", got)
		}
		if !generatorField(first.Generator, "first").IsNil() {
			t.Error("the first run has another before it")
		}
		c.table.SetRecipe(o, nil)
	}
}
