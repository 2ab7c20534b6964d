package submit

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

// capture is the state of writing a snapshot. What the tables have in no order is
// written in the order of its numbers, so equal machines have equal snapshots.
type capture struct {
	c         *Submitter
	s         *snapshot.Submitter
	tasks     map[*Task]int
	templates map[*Template]int
	channels  []*Channel
}

// Snapshot returns all that Restore needs, and the open channels in the order of
// the snapshot: the session hands their sockets over.
func (c *Submitter) Snapshot() (*snapshot.Submitter, []*Channel) {
	v := &capture{c: c, s: &snapshot.Submitter{Version: snapshot.Version}, tasks: map[*Task]int{}, templates: map[*Template]int{}}
	v.allTemplates()
	v.queued()
	v.waiting()
	for _, t := range c.delayedTasks() {
		v.task(t, snapshot.PlaceWaiting) // the successor tries it at once
	}
	for _, id := range slices.Sorted(maps.Keys(c.Leases)) {
		l := c.Leases[id]
		if l.Lost != nil {
			v.lost(l)
			continue
		}
		v.channel(l.Channel, snapshot.Channel{LeaseID: l.ID, Class: l.Class.ID, Choice: l.Choice, End: endOf(l)})
	}
	v.homes()
	for _, a := range c.actorsInOrder() {
		v.actor(a)
		v.channel(a.Channel, snapshot.Channel{ActorID: raw(a.ID[:])})
	}
	v.recipes()
	return v.s, v.channels
}

// actorsInOrder returns the actors in the order of their ids.
func (c *Submitter) actorsInOrder() []*Actor {
	return slices.SortedFunc(maps.Values(c.Actors), func(a, b *Actor) int { return bytes.Compare(a.ID[:], b.ID[:]) })
}

// allTemplates writes down the templates. A template contains its alternatives.
func (v *capture) allTemplates() {
	inside := map[*Template]bool{}
	all := v.c.AllTemplates()
	for _, t := range all {
		for _, o := range t.Fallback {
			inside[o] = true
		}
	}
	for _, t := range all {
		if !inside[t] {
			v.template(t)
		}
	}
}

// template writes a template down, once, and returns its place in Templates.
func (v *capture) template(t *Template) int {
	if n, ok := v.templates[t]; ok {
		return n
	}
	n := len(v.s.Templates)
	v.templates[t] = n
	x := templateSnapshot(t)
	x.Blob = nil // until a task needs the function
	v.s.Templates = append(v.s.Templates, x)
	return n
}

// templateSnapshot returns all that a snapshot can say of a template.
func templateSnapshot(t *Template) snapshot.Template {
	x := t.Snapshot()
	if t.Class != nil {
		x.Class = t.Class.ID
	}
	return x
}

// queued writes down the tasks in the queues of the scheduling classes.
func (v *capture) queued() {
	for _, id := range slices.Sorted(maps.Keys(v.c.Classes)) {
		v.c.Classes[id].Queue.Each(func(t *Task) { v.task(t, snapshot.PlaceWaiting) })
	}
}

// waiting writes down the tasks that wait for arguments, the oldest first.
func (v *capture) waiting() {
	waits := map[*Task]bool{}
	v.c.table.Each(func(o *refs.Object) bool {
		for _, x := range o.Tasks() {
			if t := TaskOf(x); t.counted && (t.actor == nil || t.aside) {
				waits[t] = true
			}
		}
		return true
	})
	for _, t := range slices.SortedFunc(maps.Keys(waits), func(a, b *Task) int { return cmp.Compare(a.First, b.First) }) {
		v.task(t, snapshot.PlaceWaiting)
	}
}

// task writes a task down, once, with the function that it needs, and returns its place in Tasks.
func (v *capture) task(t *Task, place snapshot.Place) int {
	if n, ok := v.tasks[t]; ok {
		return n
	}
	n := len(v.s.Tasks)
	v.tasks[t] = n
	v.s.Tasks = append(v.s.Tasks, v.complete(t, place))
	return n
}

// complete returns what the snapshot says of a task, with its template.
func (v *capture) complete(t *Task, place snapshot.Place) snapshot.Task {
	x := v.written(t, place)
	x.Template = v.template(t.Template)
	v.s.Templates[x.Template].Blob = t.Template.Blob
	return x
}

// written returns what the snapshot says of a task, apart from the template.
func (v *capture) written(t *Task, place snapshot.Place) snapshot.Task {
	x := snapshot.Task{
		First: t.First, Returns: t.Returns, Tries: t.Tried(), Crashes: t.Crashes, OOMs: t.OOMs, Misses: t.Misses, Format: t.fmt, Seq: t.Seq,
		Canceled: t.Canceled, Stored: t.stored, Place: place,
	}
	if t.aside {
		x.Aside = raw(t.actor.ID[:])
	}
	t.Write(&x)
	if g := t.Generator; g != nil {
		f := g.Facts()
		x.Items, x.Ahead, x.GoOn, x.Again = f.Items, f.Ahead, f.GoOn, f.Again
		if x.Again {
			v.c.eachReturn(t, func(i int, o *refs.Object) {
				if !o.State().Ready() {
					x.Makes = append(x.Makes, uint64(i))
				}
			})
		}
	}
	return x
}

// channel writes down a channel that is open and has calls without an answer.
func (v *capture) channel(o *Channel, x snapshot.Channel) {
	if o == nil || o.Closed() || o.sent.Len() == 0 {
		return
	}
	x.Addr, x.Seq, x.Number = o.addr, o.seq, o.number
	x.Filled = slices.Sorted(maps.Keys(o.filled))
	for t := range o.sent.All() {
		x.Tasks = append(x.Tasks, v.task(t, snapshot.PlaceSent))
	}
	v.s.Channels = append(v.s.Channels, x)
	v.channels = append(v.channels, o)
}

// endOf returns what another node's daemon has said about the end of a worker whose socket is still read, nil if it has said nothing.
func endOf(l *Lease) *snapshot.WorkerEnd {
	if l.Node == 0 || !l.Broken {
		return nil // the own daemon lists the leases that it has
	}
	return &snapshot.WorkerEnd{Detail: l.Detail, Code: string(l.Code), Held: l.Held, Begun: l.Begun, Known: l.Known, NodeLost: l.NodeLost}
}

// lost writes down the tasks of a worker whose socket broke. How a worker of another node has ended, its daemon
// will say to the successor.
func (v *capture) lost(l *Lease) {
	if l.Node == 0 {
		for _, t := range l.Lost {
			v.task(t, snapshot.PlaceWaiting)
		}
		return
	}
	x := snapshot.Lost{LeaseID: l.ID, Class: l.Class.ID, Choice: l.Choice}
	for _, t := range l.Lost {
		x.Tasks = append(x.Tasks, v.task(t, snapshot.PlaceLost))
	}
	v.s.Lost = append(v.s.Lost, x)
}

// homes writes down which other nodes know which classes.
func (v *capture) homes() {
	for _, id := range slices.Sorted(maps.Keys(v.c.Classes)) {
		v.c.Classes[id].EachHome(func(node uint32, answers uint64) {
			v.s.Homes = append(v.s.Homes, snapshot.Home{Class: id, Node: node, Answers: answers})
		})
	}
}

// actor writes an actor down, unless nobody can call it any more.
func (v *capture) actor(a *Actor) {
	x, known := a.Snapshot()
	if !known {
		return
	}
	x.Limit, x.Grouped = a.limit, a.grouped
	for _, t := range a.Sent {
		x.Calls = append(x.Calls, v.task(t, snapshot.PlaceLost))
	}
	a.Queue.Each(func(t *Task) { x.Calls = append(x.Calls, v.task(t, snapshot.PlaceWaiting)) })
	if k, announced := a.Creation(); k != nil {
		place := snapshot.PlaceWaiting
		if announced { // its arguments wait elsewhere
			place = snapshot.PlaceSent
		}
		x.Creation.Task, x.Creation.Template = v.written(k.(*constructor).task, place), templateSnapshot(k.(*constructor).template)
	}
	v.s.Actors = append(v.s.Actors, x)
}

// recipes writes down the finished tasks that are kept for their results: first
// those that may be evicted, from the oldest, then those that run again.
func (v *capture) recipes() {
	results := map[*refs.Recipe][][]byte{}
	var list []*refs.Recipe
	v.c.table.Recipes(func(r *refs.Recipe) { list = append(list, r) })
	v.c.table.Each(func(o *refs.Object) bool {
		if r := o.Recipe(); o.Recomputable() {
			if results[r] == nil && r.Running() {
				list = append(list, r)
			}
			results[r] = append(results[r], raw(o.ID[:]))
		}
		return true
	})
	for _, r := range list {
		t := TaskOf(r.Task())
		x := snapshot.Recipe{Again: -1, Results: results[r]}
		if r.Running() {
			x.Again = v.task(t, snapshot.PlaceWaiting) // it is written already, wherever it is
		} else {
			x.Task = v.complete(t, snapshot.PlaceSent)
			t.WriteFinished(&x)
			if t.actor != nil {
				x.Actor = raw(t.actor.ID[:])
			}
		}
		v.s.Recipes = append(v.s.Recipes, x)
	}
}

// raw copies the bytes of an id.
func raw(id []byte) []byte { return bytes.Clone(id) }
