package generators

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// A process may hand its work over to a successor while its generators run. The successor goes on
// with each run. Only the program that called a generator reads its items one by one, and that program has
// ended. A list of the items may still be wanted.

// Facts is what a successor has to know of a run.
type Facts struct {
	Items uint64   // how many items have come
	Ahead uint64   // the last item to which a reference was asked for before it came
	GoOn  bool     // the run goes on to its end although nobody reads it
	Again bool     // it is a second run, for items that were lost
	Makes []uint64 // of a second run: the results that it makes, counted from the generator's own object
}

// Facts returns what a successor has to know of a run, apart from Makes.
func (g *Generator) Facts() Facts {
	return Facts{Items: g.came(), Ahead: g.ahead, GoOn: g.goOn, Again: g.again}
}

// Finished returns a run that has ended, of whose items so many had come.
func Finished(own, items uint64) *Generator { return &Generator{own: own, got: items, left: true} }

// Restore returns the run of a call that goes on here. The objects of its items are in the table already.
func (x *Table) Restore(t refs.Task, own uint64, mode int, f Facts) *Generator {
	g := &Generator{own: own, task: t, got: f.Items, ahead: f.Ahead, left: true, goOn: f.GoOn, again: f.Again}
	if g.again {
		for _, i := range f.Makes { // several runs may go on at once, each for other items
			if o := x.objects.FindOwned(own + i); o != nil && o.State() == refs.Pending && !slices.Contains(x.objects.Unverified(), o) {
				o.SetSource(t)
			}
		}
		return g
	}
	wanted := x.objects.FindOwned(own) != nil
	if mode == frame.FlowStream {
		x.yielding[own] = g
		g.quit = !wanted && !g.goOn
		return g
	}
	if !wanted {
		return g
	}
	g.left = false
	for i := range g.got {
		if o := x.item(g, i); o != nil {
			x.objects.Pin(o)
		}
	}
	return g
}

// JoinRuns makes the runs of each generator know each other, as they did in the process where they
// began. They share a budget of retries, and a run for lost items knows what the first run has yielded since.
// Each run has been told the retries that its own task has used.
func JoinRuns(runs []*Generator) {
	of := map[uint64][]*Generator{}
	for _, g := range runs {
		of[g.own] = append(of[g.own], g)
	}
	for _, list := range of {
		root := list[0]
		for _, g := range list {
			if g.task != nil && !g.again {
				root = g // the first run, which may still yield
			}
		}
		for _, g := range list {
			if g != root {
				g.first, root.tries = root, max(root.tries, g.tries)
			}
		}
	}
}
