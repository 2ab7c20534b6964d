package generators

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// MaxItems bounds how many items a generator can have, together with its exception.
const MaxItems = 1 << 32

// MaxAhead bounds how far ahead of the items that have come a program may refer to items.
const MaxAhead = 1_000_000

// untold is how many items a worker may have stored at most that the caller does not know.
const untold = 2

// Table has the generators of a process.
type Table struct {
	objects  *refs.Table
	self     ids.Owner
	job      ids.Job
	ended    error                 // the session has ended, for this reason
	read     map[uint64]*Generator // those that the program reads, by the count of their own object
	yielding map[uint64]*Generator // first runs whose items come, alike
}

// Generator is the caller's end of one run of a generator.
type Generator struct {
	own   uint64    // the count of the generator's own object
	task  refs.Task // the call that yields; nil: the run has ended
	got   uint64    // how many items have come, in all attempts of this run
	taken uint64    // how many of them the program has been given
	ahead uint64    // the last item that the program has asked for before it came
	told  bool      // the program has been given what ended the generator
	// The program has been given the reason why no node can run it as things are. It waits for the next item then.
	warned bool
	left   bool       // the program reads no more items, so items that come are not kept
	goOn   bool       // the run goes on to its end all the same
	quit   bool       // the run is to be closed, because nobody waits for its end either
	again  bool       // this is a second run, for items that were lost
	tries  int32      // the retries of all runs together, counted in the first run only
	first  *Generator // of a second run: the first run, which may still yield; nil: that ended in another process
}

// Join tells the table which process it belongs to, and of the table of its objects.
func (x *Table) Join(self ids.Owner, job ids.Job, objects *refs.Table) {
	x.self, x.job, x.objects = self, job, objects
	if x.read == nil {
		x.read, x.yielding = map[uint64]*Generator{}, map[uint64]*Generator{}
	}
}

// End tells the table that the session has ended, and why.
func (x *Table) End(why error) { x.ended = why }

// New returns the generator of a call whose own object has the count own. The generator has
// the counts behind it.
func (x *Table) New(t refs.Task, own uint64, mode int) *Generator {
	g := &Generator{own: own, task: t}
	x.objects.Reserve(MaxItems)
	if mode == frame.FlowStream {
		x.read[own] = g
		x.yielding[own] = g
	}
	return g
}

// Again returns the generator of a call that runs again for results that were lost. The run before may still go on.
func Again(t refs.Task, before *Generator) *Generator {
	return &Generator{own: before.own, task: t, got: before.came(), left: true, again: true, first: before.root()}
}

// came returns how many items have come. In a run for lost items those count, too, that
// the first run has yielded since, because the run that ends last can make all of them anew.
func (g *Generator) came() uint64 {
	if g.first != nil {
		return max(g.got, g.first.got)
	}
	return g.got
}

// root is the first run.
func (g *Generator) root() *Generator {
	if g.first != nil {
		return g.first
	}
	return g
}

// Task is the call that yields, nil when the run has ended.
func (g *Generator) Task() refs.Task { return g.task }

// Second reports whether this is a run for items that were lost.
func (g *Generator) Second() bool { return g.again }

// Got is how many items have come in this run.
func (g *Generator) Got() uint64 { return g.got }

// Tried is how many retries the runs have used together, as far as their tasks have told.
func (g *Generator) Tried() int32 { return g.root().tries }

// SetTried notes how many retries the runs have used together.
func (g *Generator) SetTried(n int32) { g.root().tries = n }

// Of returns the generator that the program reads whose own object has this count, nil if there is none.
func (x *Table) Of(own uint64) *Generator { return x.read[own] }

// Read returns the own objects of the generators that the program reads.
func (x *Table) Read() []ids.Object {
	list := make([]ids.Object, 0, len(x.read))
	for own := range x.read {
		list = append(list, ids.NewObject(own, x.self, x.job, 1))
	}
	return list
}

// Len is how many generators the program reads.
func (x *Table) Len() int { return len(x.read) }
