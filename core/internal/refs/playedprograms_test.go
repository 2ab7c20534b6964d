package refs

import (
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
)

// What the programs of the members do.

// held returns the ids of some references of the program, in no particular order but the same for each seed.
func (m *member) held(most int) (list []ids.Object) {
	all := m.all()
	for range m.s.r.IntN(most + 1) {
		if len(all) > 0 {
			list = append(list, all[m.s.r.IntN(len(all))])
		}
	}
	return list
}

// all returns the ids of the references of the program.
func (m *member) all() []ids.Object {
	return slices.SortedFunc(maps.Keys(m.holds), func(a, b ids.Object) int { return slices.Compare(a[:], b[:]) })
}

func (m *member) dropAll() {
	for _, id := range m.all() {
		for m.holds[id] > 0 {
			m.drop(id)
		}
	}
}

func (m *member) object(id ids.Object) *Object {
	o := m.table.Find(id)
	if o == nil {
		m.s.fail("%s holds %s and its table does not know it", m.name, short(id))
	}
	return o
}

func (m *member) hold(o *Object) {
	m.holds[o.ID]++
}

// put makes a value with references inside.
func (m *member) put(inner ...ids.Object) ids.Object {
	o := m.table.New(0, 1)
	for _, id := range inner {
		m.table.Contain(o, m.object(id))
	}
	if m.s.r.IntN(2) == 0 {
		m.table.PutStored(o, 10, false)
	} else {
		m.table.PutInline(o, []byte{1}, 1)
	}
	m.s.inside[o.ID] = inner
	m.hold(o)
	m.s.note("%s puts %s", m.name, short(o.ID))
	return o.ID
}

// drop lets go of a reference of the program.
func (m *member) drop(id ids.Object) {
	if m.holds[id]--; m.holds[id] == 0 {
		delete(m.holds, id)
	}
	m.s.note("%s drops %s", m.name, short(id))
	m.table.Drop([]Drop{{Object: id}})
}

// open takes the references out of a value, as unpickling does. It returns false
// when the value is not there yet, or has none.
func (m *member) open(id ids.Object) bool {
	o := m.object(id)
	if o.State() == Pending && !o.Owned() && !o.Asked() {
		m.table.Ask(o, false)
	}
	inner := m.s.inside[id]
	if m.s.nodes != nil && m.s.ownerOf(id).dead { // what a lost value held may be lost, too
		return false
	}
	if !o.State().Ready() || o.State() == Failed || len(inner) == 0 {
		return false
	}
	m.s.note("%s opens %s", m.name, short(id))
	value := m.written(inner)
	m.table.Got(o, value)
	v, err := ReadRefs(value)
	if err != nil {
		m.s.fail("%v", err)
	}
	for _, x := range m.table.Import(v, 0) {
		m.hold(x)
	}
	return true
}

// written is a value as its owner has written it.
func (m *member) written(inner []ids.Object) []byte {
	w := NewTable(ids.Owner{99}, ids.JobOf(1), "writer", m)
	var list []*ids.Object
	for i, id := range inner {
		w.Install(Known(id, Facts{OwnerAddr: m.s.ownerOf(id).name}))
		list = append(list, &inner[i])
	}
	b, err := w.WriteRefs(list)
	if err != nil {
		m.s.fail("%v", err)
	}
	return b
}

// call has another process run a task with references as arguments. It returns the result.
func (m *member) call(w *member, args ...ids.Object) ids.Object {
	m.lastID++
	out := m.table.New(1, 1)
	x := &execution{caller: m, task: ids.Task{m.owner[0], byte(m.lastID >> 8), byte(m.lastID)}, out: out.ID, args: args}
	m.calls[x.task], m.serves[x.task] = x.args, w
	for _, id := range x.args {
		m.table.Pin(m.object(id))
	}
	m.hold(out)
	m.sendCall(x, w)
	return out.ID
}

// sendCall sends a call, which may have been sent before on a task socket that broke.
func (m *member) sendCall(x *execution, w *member) {
	k := m.socketTo(w)
	x.on = k
	k.waits = append(k.waits, x)
	m.s.note("%s calls %s with %d references for %s, on task socket %d", m.name, w.name, len(x.args), short(x.out), k.Number)
	k.sends(m, w, func() {
		if !k.open { // the caller holds the arguments for a later run, which may have ended: nothing can be said of this one
			return
		}
		m.s.note("%s begins the call of %s for %s", w.name, m.name, short(x.out))
		for _, id := range x.args {
			o := w.table.Borrow(id, w.addrFor(id))
			w.table.Ref(o)
			w.hold(o)
		}
		w.running = append(w.running, x)
	})
}

// addrFor returns the address of an object's owner as the member's table knows it.
func (m *member) addrFor(id ids.Object) string {
	if owner := m.s.ownerOf(id); owner != m {
		return owner.name
	}
	return ""
}

// answerAny ends one of the calls that the member runs, with some references inside the result.
func (w *member) answerAny() {
	if len(w.running) == 0 {
		return
	}
	if w.s.r.IntN(2) == 0 {
		w.put(w.held(3)...) // it may be returned, and have references of others inside
	}
	i := w.s.r.IntN(len(w.running))
	x := w.running[i]
	w.answer(i, slices.DeleteFunc(w.held(3), func(id ids.Object) bool { return w.s.leadsTo(id, x.out) })...)
	for _, id := range x.args { // some of them stay with the program
		if w.holds[id] > 0 && w.s.r.IntN(4) > 0 {
			w.drop(id)
		}
	}
}

// answer ends the i-th of the calls that the member runs, with references inside the result. The program keeps them and the arguments.
func (w *member) answer(i int, inner ...ids.Object) {
	x, m := w.running[i], w.running[i].caller
	w.running = slices.Delete(w.running, i, i+1)
	w.s.sent[x.out] = inner
	var pinned []*Object
	for _, id := range inner {
		o := w.object(id)
		w.table.Pin(o)
		pinned = append(pinned, o)
	}
	unregistered := w.table.Unregistered() > 0
	held := uint64(0)
	switch {
	case !x.on.serves: // nobody reads the answer
		w.table.UnpinAll(pinned)
		w.carryOut()
		return
	case pinned != nil:
		held = w.table.HoldResult(x.on.TaskSocket, pinned)
	}
	w.s.note("%s answers %s, unregistered: %v, with %d references, held under %d", w.name, m.name, unregistered, len(inner), held)
	x.on.sends(w, m, func() { m.answered(w, x, inner, unregistered, held) })
}

// answered takes the answer of a call.
func (m *member) answered(w *member, x *execution, inner []ids.Object, unregistered bool, held uint64) {
	x.on.waits = slices.DeleteFunc(x.on.waits, func(y *execution) bool { return y == x })
	m.s.note("%s gets the answer of %s for %s", m.name, w.name, short(x.out))
	var args []*Object
	for _, id := range m.calls[x.task] {
		args = append(args, m.object(id))
	}
	delete(m.calls, x.task)
	delete(m.serves, x.task)
	out := m.table.Find(x.out) // nil: nobody waits for it any more
	for _, id := range inner {
		if out != nil {
			m.table.Contain(out, m.table.Borrow(id, m.addrFor(id)))
		}
	}
	if out != nil {
		m.s.inside[out.ID] = inner
		m.table.Complete(out, Inline, []byte{2}, 1, false)
	}
	if unregistered {
		m.table.Retain(w.name, slices.Clone(args))
	}
	m.table.UnpinAll(args)
	switch {
	case held != 0 && m.s.has("an answer is confirmed when it is read"):
		m.Receipt(w.name, held)
	case held != 0:
		m.table.ReceiptWhenRegistered(w.name, held)
	}
	m.carryOut()
}

// step is one event.
func (s *society) step() {
	m := s.members[s.r.IntN(len(s.members))]
	if m.dead {
		return
	}
	for len(m.holds) > 6 { // few references are held for long, so objects go often
		all := m.all()
		m.drop(all[s.r.IntN(len(all))])
	}
	switch n := s.r.IntN(40); {
	case n < 4:
		m.put(m.held(3)...)
	case n < 6:
		for _, id := range m.held(3) {
			if m.holds[id] > 0 {
				m.drop(id)
			}
		}
	case n < 7:
		if s.r.IntN(6) == 0 {
			m.dropAll()
		}
	case n < 14:
		for _, id := range m.held(2) {
			if m.holds[id] > 0 && m.open(id) && s.r.IntN(3) > 0 {
				m.drop(id)
			}
		}
	case n < 17:
		if w := s.members[s.r.IntN(len(s.members))]; w != m && !w.dead {
			m.call(w, m.held(3)...)
		}
	case n < 19:
		m.answerAny()
	default:
		s.deliver()
	}
}
