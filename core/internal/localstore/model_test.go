package localstore

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

var modelSeeds = flag.Uint64("seeds", 60, "how many random histories TestModel plays")

// model knows who holds what, by counting only. It plays random histories against a
// Store and compares.
type model struct {
	*node
	r       *rand.Rand
	file    string
	objects []*refs.Object
	strange uint64     // the number of the next object of another process
	waits   []*Pinning // of callers that have asked and not taken
	calls   []*View    // one for each hold of a call
	program []*View    // one for each use by the program
}

// some returns the place of a random element; -1: there is none.
func some[T any](m *model, list []T) int {
	if len(list) == 0 {
		return -1
	}
	return m.r.IntN(len(list))
}

// out takes an element out of a list.
func out[T any](list *[]T, i int) T {
	x := (*list)[i]
	(*list)[i] = (*list)[len(*list)-1]
	*list = (*list)[:len(*list)-1]
	return x
}

func (m *model) newObject() {
	if m.r.IntN(2) == 0 {
		m.objects = append(m.objects, m.stored(uint64(100+m.r.IntN(3<<20))))
	} else {
		m.strange++
		m.objects = append(m.objects, m.borrowed(m.strange))
	}
}

// steps are the events that may happen.
func (m *model) steps() []func() {
	object := func(f func(o *refs.Object)) func() {
		return func() {
			if i := some(m, m.objects); i >= 0 {
				f(m.objects[i])
			}
		}
	}
	pin := func(v *View, p *Pinning) {
		if v != nil {
			m.calls = append(m.calls, v)
		} else {
			m.waits = append(m.waits, p)
		}
	}
	answer := func() {
		if i := some(m, m.pins); i >= 0 {
			m.pins[0], m.pins[i] = m.pins[i], m.pins[0]
			switch m.r.IntN(6) {
			case 0:
				m.answer(wire.ObjPlace{}, errStore)
			case 1:
				m.answer(wire.ObjPlace{Path: m.file, Size: 100}, nil)
			default:
				m.answer(place(uint64(i)), nil)
			}
		}
	}
	take := func() {
		if i := some(m, m.waits); i >= 0 {
			if v, err := m.s.Take(out(&m.waits, i)); err == nil {
				m.calls = append(m.calls, v)
			}
		}
	}
	return []func(){
		m.newObject,
		object(func(o *refs.Object) { pin(m.s.Pin(o.ID)) }),
		object(func(o *refs.Object) { pin(m.s.PinNext(o)) }),
		object(func(o *refs.Object) {
			if v := Held(o); v != nil {
				m.calls = append(m.calls, v)
			}
		}),
		answer, answer, take, take,
		func() { // a file has been opened, or not
			if i := some(m, m.opening); i >= 0 {
				x := out(&m.opening, i)
				file, err := store.MapFile(x.at.Path, 0, x.at.Size)
				if m.r.IntN(3) == 0 {
					file.Close()
					file, err = nil, errStore
				}
				m.s.Opened(x.p, x.at, file, err)
			}
		},
		func() { // a call's hold ends, in one of the two ways
			if i := some(m, m.calls); i >= 0 {
				if v := out(&m.calls, i); m.r.IntN(2) == 0 {
					m.s.Unhold(v)
				} else {
					m.s.Release(v)
				}
			}
		},
		func() { // a call hands its hold to the program
			if i := some(m, m.calls); i >= 0 {
				if _, _, err := m.s.Open(m.calls[i]); err != nil {
					m.t.Fatal(err)
				}
				m.program = append(m.program, out(&m.calls, i))
			}
		},
		func() { // the table keeps what a call holds
			if i := some(m, m.calls); i >= 0 {
				if o := m.table.Find(m.calls[i].id); o != nil {
					m.s.KeepFor(o, m.calls[i])
				}
			}
		},
		func() {
			if i := some(m, m.program); i >= 0 {
				m.s.Drop(out(&m.program, i).n)
			}
		},
		object(func(o *refs.Object) { m.s.ValueFreed(o.ID) }),
		object(func(o *refs.Object) { o.MarkShared() }),
		func() { // the last reference goes
			if i := some(m, m.objects); i >= 0 {
				m.letGo(out(&m.objects, i))
			}
		},
		func() { m.s.PinBatch(m.objects) },
		func() { m.s.Expect(m.objects) },
		func() { // the answer to a list has some of it
			if i := some(m, m.batches); i >= 0 {
				m.batches[0], m.batches[i] = m.batches[i], m.batches[0]
				var which []uint32
				for k := range m.batches[0].pinnings {
					if m.r.IntN(3) > 0 {
						which = append(which, uint32(k))
					}
				}
				m.answerBatch(which...)
			}
		},
		func() {
			o, _ := m.put(ReuseFrom + m.r.IntN(1<<20))
			m.objects = append(m.objects, o)
		},
		func() { // a put after a put
			o, _ := m.put(ReuseFrom + m.r.IntN(1<<20))
			m.letGo(o)
		},
		func() { m.passes(time.Duration(m.r.IntN(int(time.Second)))) },
		func() {
			if m.r.IntN(4) == 0 {
				m.s.UnpinUnused()
			}
		},
	}
}

// check compares the Store with the model.
func (m *model) check() {
	m.t.Helper()
	holds, inUse := map[*View]int{}, map[*View]int{}
	for _, v := range m.calls {
		holds[v]++
	}
	for _, v := range m.program {
		holds[v]++
		inUse[v]++
	}
	for _, p := range m.waits {
		if p.view != nil {
			holds[p.view]++
		}
	}
	for _, o := range m.objects {
		if v := ViewOf(o); v != nil {
			holds[v]++
		}
	}
	if v := m.s.spare.view; v != nil {
		holds[v]++
	}
	pins, idle := map[ids.Object]int{}, 0
	for _, x := range m.opening {
		pins[x.p.id]++
	}
	for n, v := range m.s.views {
		pins[v.id]++
		switch {
		case v.n != n || m.s.mapped[v.id] != v:
			m.t.Fatalf("object %s has two views", v.id)
		case v.holds != holds[v] || v.inUse != inUse[v]:
			m.t.Fatalf("a view of object %s has %d holds, %d of them the program's; want %d and %d", v.id, v.holds, v.inUse, holds[v], inUse[v])
		case v.holds == 0:
			idle++
		}
	}
	for v := range holds {
		if m.s.views[v.n] != v {
			m.t.Fatalf("object %s is unpinned while somebody holds a view of it", v.id)
		}
	}
	for id, k := range m.pinned {
		if k != pins[id] {
			m.t.Fatalf("object %s has %d pins for %d views", id, k, pins[id])
		}
	}
	listed := 0
	for v := m.s.idle.first; v != nil; v = v.newer {
		if listed++; v.holds != 0 || v.newer != nil && v.newer.older != v {
			m.t.Fatalf("the list of idle views is damaged at object %s, which has %d holds", v.id, v.holds)
		}
	}
	if listed != idle || listed != m.s.idle.n || listed > idleMost {
		m.t.Fatalf("%d views are idle, %d are listed, %d counted", idle, listed, m.s.idle.n)
	}
	if len(m.s.views) != len(m.s.mapped) {
		m.t.Fatalf("%d views of %d objects", len(m.s.views), len(m.s.mapped))
	}
}

// ends lets go of everything, and no pin must be left.
func (m *model) ends() {
	if m.r.IntN(3) == 0 {
		m.s.End(errors.New("the session ended"))
	}
	for len(m.pins)+len(m.batches)+len(m.opening) > 0 {
		for len(m.batches) > 0 {
			m.answerBatch()
		}
		for len(m.pins) > 0 {
			m.answer(place(0), nil)
		}
		for len(m.opening) > 0 {
			x := out(&m.opening, 0)
			m.s.Opened(x.p, x.at, nil, errStore)
		}
		m.check()
	}
	for len(m.waits) > 0 {
		if v, err := m.s.Take(out(&m.waits, 0)); err == nil {
			m.s.Release(v)
		}
	}
	for len(m.calls) > 0 {
		m.s.Release(out(&m.calls, 0))
	}
	for len(m.program) > 0 {
		m.s.Drop(out(&m.program, 0).n)
	}
	m.check()
	m.s.UnpinUnused()
	m.check()
	if c := m.s.Count(); m.pinCount() != 0 || c != (Counts{}) {
		m.t.Fatalf("%d pins are left, and %+v", m.pinCount(), c)
	}
}

// Random histories of pins, unpins, drops, puts, frees, lists and timers: no copy is unpinned while a view of it has
// a holder, each pin is given back exactly once, and in the end none is left.
func TestModel_RandomHistories_EachPinIsGivenBackOnce(t *testing.T) {
	seen := map[string]bool{}
	for seed := range *modelSeeds {
		m := &model{node: newNode(t, seed%3 > 0), r: rand.New(rand.NewPCG(seed, 13)), file: spilledFile(t, 100)}
		steps := m.steps()
		for range 600 {
			before := len(m.reused)
			steps[m.r.IntN(len(steps))]()
			m.check()
			c := m.s.Count()
			for what, is := range map[string]bool{
				"idle views": c.Idle > 0, "uses": c.InUse > 0, "reused ranges": len(m.reused) > before, "spare ranges": m.s.spare.view != nil,
				"files": len(m.opening) > 0, "lists": len(m.batches) > 0, "prefetched values": len(m.s.expected) > 0,
			} {
				seen[what] = seen[what] || is
			}
		}
		m.ends()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for what, is := range seen {
		if !is {
			t.Errorf("no history had %s: it tests less than it says", what)
		}
	}
}
