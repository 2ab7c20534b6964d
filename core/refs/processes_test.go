package refs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// Several processes, each with a table, run random programs: they put values
// with references inside, call each other with references, keep some of what
// they got, return others, and let go. Messages arrive late, in the order of
// their connection. The oracle knows which references the programs hold and what
// is inside each value. From that alone it knows which objects must be alive.

// society is all processes and the messages between them.
type society struct {
	t       *testing.T
	r       *rand.Rand
	seed    uint64
	members []*member
	links   map[[2]*member][]func() // what was sent from one member to another and has not arrived
	inside  map[ids.Object][]ids.Object
	sent    map[ids.Object][]ids.Object // what is inside results that may not have arrived
	slow    [2]*member                  // the connection whose messages arrive last
	log     []string
}

// member is one process: its table, and what its program holds.
type member struct {
	s       *society
	name    string
	owner   ids.Owner
	table   *Table
	holds   map[ids.Object]int        // references of its program
	calls   map[ids.Task][]ids.Object // arguments of its calls that have no answer, pinned
	running []*execution
	freed   map[ids.Object]int
	asks    map[uint64]func(wire.RefValue) // questions of borrowers, by their number
	unacked map[*member]int                // references that this owner has not acknowledged
	serves  map[ids.Task]*member           // who runs a call of ours
	lastAsk uint64
	lastID  uint64
	dead    bool
}

// execution is a call that a member runs for another one.
type execution struct {
	caller *member
	task   ids.Task
	out    ids.Object // what it returns
	args   []ids.Object
}

func newSociety(t *testing.T, seed uint64, size int) *society {
	s := &society{t: t, r: rand.New(rand.NewPCG(seed, 31)), seed: seed, links: map[[2]*member][]func(){}, inside: map[ids.Object][]ids.Object{}, sent: map[ids.Object][]ids.Object{}}
	for i := range size {
		m := &member{
			s: s, name: fmt.Sprintf("p%d", i), owner: ids.Owner{byte(i + 1)}, holds: map[ids.Object]int{}, calls: map[ids.Task][]ids.Object{},
			freed: map[ids.Object]int{}, asks: map[uint64]func(wire.RefValue){}, unacked: map[*member]int{}, serves: map[ids.Task]*member{},
		}
		m.table = NewTable(m.owner, ids.JobOf(1), m.name, m)
		s.members = append(s.members, m)
	}
	return s
}

func (s *society) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("seed %d: %s\nafter:\n%s", s.seed, fmt.Sprintf(format, args...), s.history())
}

func (s *society) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// history is what happened last.
func (s *society) history() (text string) {
	for _, line := range s.log[max(0, len(s.log)-60):] {
		text += line + "\n"
	}
	return text
}

func (s *society) at(addr string) *member {
	for _, m := range s.members {
		if m.name == addr {
			return m
		}
	}
	panic("no process at " + addr)
}

func (s *society) ownerOf(id ids.Object) *member { return s.members[id.Owner()[0]-1] }

func (s *society) send(from, to *member, f func()) {
	if !from.dead && !to.dead {
		s.links[[2]*member{from, to}] = append(s.links[[2]*member{from, to}], f)
	}
}

// deliver has the first message of a random connection arrive. It returns false when there is none.
func (s *society) deliver() bool {
	var some [][2]*member
	for _, from := range s.members {
		for _, to := range s.members {
			if k := [2]*member{from, to}; len(s.links[k]) > 0 {
				some = append(some, k)
			}
		}
	}
	if len(some) == 0 {
		return false
	}
	if s.r.IntN(30) == 0 {
		s.slow = some[s.r.IntN(len(some))]
	}
	if fast := slices.DeleteFunc(slices.Clone(some), func(k [2]*member) bool { return k == s.slow }); len(fast) > 0 {
		some = fast
	}
	k := some[s.r.IntN(len(some))]
	f := s.links[k][0]
	s.links[k] = s.links[k][1:]
	f()
	return true
}

func short(id ids.Object) string { return fmt.Sprintf("%d of p%d", id.Count(), id.Owner()[0]-1) }

// The effects of a member's table.

func (m *member) Wake(w *wait.Wait)             { w.End() }
func (m *member) Ready(Task)                    {}
func (m *member) Infeasible(Task, *fault.Error) {}
func (m *member) Reply(q *wire.Message, o *Object) {
	if f := m.asks[q.ID]; f != nil {
		delete(m.asks, q.ID)
		f(o.Answer(ids.Node{}))
	}
}

func (m *member) Borrow(o *Object) {
	id, owner := o.ID, m.s.at(o.OwnerAddr())
	if owner.dead { // as after an attempt to connect
		m.s.send(m, m, func() {
			m.table.Unreachable([][]byte{raw(id)})
			m.registered(1)
		})
		return
	}
	m.unacked[owner]++
	m.s.send(m, owner, func() {
		m.s.note("%s hears that %s holds %s", owner.name, m.name, short(id))
		if err := owner.table.BorrowerHolds(m.owner, [][]byte{raw(id)}); err != nil {
			m.s.fail("%v", err)
		}
		owner.carryOut()
		m.s.send(owner, m, func() {
			m.unacked[owner]--
			m.registered(1)
		})
	})
}

func (m *member) registered(n int) {
	m.s.note("%s: %d registered", m.name, n)
	if m.table.Registered(n); m.table.Unregistered() < 0 {
		m.s.fail("%s has %d registrations under way", m.name, m.table.Unregistered())
	}
	m.table.Drop(nil)
}

func (m *member) GiveBack(o *Object) {
	id, owner := o.ID, m.s.at(o.OwnerAddr())
	m.s.note("%s gives %s back", m.name, short(id))
	m.s.send(m, owner, func() {
		if err := owner.table.BorrowerReturns(m.owner, [][]byte{raw(id)}); err != nil {
			m.s.fail("%v", err)
		}
	})
}

func (m *member) Ask(o *Object, q Question) {
	id, owner := o.ID, m.s.at(o.OwnerAddr())
	m.s.send(m, owner, func() {
		owner.lastAsk++
		msg := &wire.Message{ID: owner.lastAsk}
		answer := func(v *wire.RefValue, err error) {
			m.s.send(owner, m, func() { m.table.Answered(id, q, v, err); m.carryOut() })
		}
		owner.asks[msg.ID] = func(v wire.RefValue) { answer(&v, nil) }
		if err := owner.table.Asked(&wire.RefWait{ObjectID: raw(id)}, msg); err != nil {
			delete(owner.asks, msg.ID)
			answer(nil, err)
		}
	})
}

func (m *member) Receipt(worker string, t ids.Task) {
	w := m.s.at(worker)
	m.s.send(m, w, func() {
		m.s.note("%s hears that %s has registered what is inside a result", w.name, m.name)
		w.table.Confirmed(m.owner, t)
	})
}

func (m *member) AskRegistered(x *Retained, _ time.Duration) {
	w := m.s.at(x.Worker())
	if w.dead {
		m.s.send(m, m, func() { m.table.WorkerRegistered(x, true) })
		return
	}
	m.s.send(m, w, func() {
		yes := w.table.Unregistered() == 0
		m.s.send(w, m, func() { m.table.WorkerRegistered(x, yes) })
	})
}

func (m *member) Connected(ids.Owner) bool   { return true }
func (m *member) Reach(string)               {}
func (m *member) Check([]*Object) bool       { return false }
func (m *member) Siblings(*Object) []*Object { return nil }
func (m *member) Recompute(*Object)          {}
func (m *member) Pointer(*Object) []byte     { return nil }
func (m *member) CopyLost(ids.Object)        {}
func (m *member) DropCopy(*Object) bool      { return false }
func (m *member) SourceGone(Source, *Object) {}
func (m *member) RecipeGone(Task)            {}
func (m *member) Unseen(*Object)             {}
func (m *member) Released(f func())          { f() }
func (m *member) DropView(uint64)            {}
func (m *member) DropStream(ids.Object)      {}
func (m *member) Needed()                    {}
func (m *member) Free(list [][]byte) {
	for _, b := range list {
		id, err := ids.ParseObject(b)
		if err != nil || id.Owner() != m.owner {
			m.s.fail("%s frees %v, %v", m.name, id, err)
		}
		if m.freed[id]++; m.freed[id] > 1 {
			m.s.fail("%s frees %s twice", m.name, short(id))
		}
	}
}

func (m *member) carryOut() { m.table.CarryOut() }

// What programs do.

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
	m.s.note("%s calls %s with %d references for %s", m.name, w.name, len(x.args), short(out.ID))
	m.s.send(m, w, func() {
		m.s.note("%s begins the call of %s for %s", w.name, m.name, short(x.out))
		for _, id := range x.args {
			o := w.table.Borrow(id, w.addrFor(id))
			w.table.Ref(o)
			w.hold(o)
		}
		w.running = append(w.running, x)
	})
	return out.ID
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
	switch {
	case m.dead: // nobody reads the answer
		w.table.UnpinAll(pinned)
		w.carryOut()
	case pinned != nil:
		w.table.HoldResult(m.owner, x.task, pinned)
	}
	w.s.note("%s answers %s, unregistered: %v, with %d references", w.name, m.name, unregistered, len(inner))
	w.s.send(w, m, func() { m.answered(w, x, inner, unregistered) })
}

// answered takes the answer of a call.
func (m *member) answered(w *member, x *execution, inner []ids.Object, unregistered bool) {
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
	if inner != nil {
		m.table.ReceiptWhenRegistered(w.name, x.task)
	}
	m.carryOut()
}

// leadsTo reports whether an object is another one, or has it inside. Values
// that contain each other would never go: references are counted.
func (s *society) leadsTo(id, other ids.Object) bool {
	if id == other {
		return true
	}
	for _, list := range [][]ids.Object{s.inside[id], s.sent[id]} {
		for _, in := range list {
			if s.leadsTo(in, other) {
				return true
			}
		}
	}
	return false
}

// What the oracle knows.

// check compares what must be alive with what is.
func (s *society) check() {
	seen := map[ids.Object]bool{}
	var todo []ids.Object
	for _, m := range s.members {
		for id := range m.holds {
			todo = append(todo, id)
		}
		for _, x := range m.running {
			todo = append(todo, x.args...)
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		owner := s.ownerOf(id)
		if seen[id] || owner.dead {
			continue
		}
		seen[id] = true
		o := owner.table.Find(id)
		if o == nil || owner.freed[id] > 0 {
			s.fail("%s is gone and somebody holds it", short(id))
		}
		todo = append(todo, s.inside[id]...)
	}
}

// moves replaces the table by one that is restored from its snapshot. What the
// program and its calls hold, they hold again.
func (m *member) moves() {
	m.s.note("%s moves", m.name)
	m.carryOut()
	old := m.table
	m.table = successorOf(m.s.t, old, m)
	for id, n := range m.holds {
		m.object(id).local = int32(n)
	}
	for _, args := range m.calls {
		for _, id := range args {
			m.table.Pin(m.object(id))
		}
	}
	for _, d := range old.lateDrops { // the program let go of them, and the table has not yet
		m.object(d.Object).local++
	}
	m.table.Sweep()
	m.table.Drop(old.lateDrops)
	m.carryOut()
}

// dies ends a process: what it had sent and not delivered is lost, and all others hear of its end.
func (m *member) dies() {
	s := m.s
	s.note("%s dies", m.name)
	m.dead = true
	m.holds, m.running = map[ids.Object]int{}, nil
	for _, other := range s.members {
		delete(s.links, [2]*member{m, other})
		delete(s.links, [2]*member{other, m})
		if other.dead {
			continue
		}
		t := other.table
		t.BorrowerGone(m.owner)
		t.OwnerGone(m.name)
		for _, x := range slices.Clone(t.Retained()) {
			if x.Worker() == m.name {
				t.WorkerRegistered(x, true)
			}
		}
		for task, w := range other.serves {
			if w == m {
				for _, id := range other.calls[task] {
					t.Unpin(other.object(id))
				}
				delete(other.calls, task)
				delete(other.serves, task)
			}
		}
		if n := other.unacked[m]; n > 0 {
			delete(other.unacked, m)
			other.registered(n)
		}
		other.carryOut()
	}
}

// ends lets go of everything, and has all messages arrive.
func (s *society) ends() {
	for _, m := range s.members {
		m.dropAll()
	}
	for range 1_000_000 {
		for _, m := range s.members {
			m.answerAny()
			m.dropAll()
		}
		if !s.deliver() {
			break
		}
	}
	for _, m := range s.members {
		if owned, borrowed := m.table.Len(); !m.dead && owned+borrowed > 0 {
			var left []string
			m.table.Each(func(o *Object) bool {
				left = append(left, fmt.Sprintf("%s: local %d, pins %d, borrowers %v", short(o.ID), o.local, o.pins, o.HeldBy()))
				return true
			})
			s.fail("%s keeps %v at the end", m.name, left)
		}
		if t := m.table; !m.dead && (t.Unregistered() != 0 || t.Unconfirmed() || len(t.Retained()) > 0 || t.LateDrops() > 0 || t.AwaitingRegistered() > 0) {
			s.fail("%s: %d unregistered, unconfirmed %v, %d retained, %d late drops", m.name, t.Unregistered(), t.Unconfirmed(), len(t.Retained()), t.LateDrops())
		}
	}
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

func TestProcesses_RandomPrograms_NothingGoesEarlyAndNothingStays(t *testing.T) {
	for seed := range uint64(150) {
		s := newSociety(t, seed, 2+int(seed%4))
		for range 600 {
			if s.step(); seed%2 == 1 && s.r.IntN(20) == 0 {
				s.members[s.r.IntN(len(s.members))].moves()
			}
			s.check()
		}
		s.ends()
	}
}

// rush has all messages arrive, in any order that the connections allow, and checks after each.
func (s *society) rush() {
	s.check()
	for s.deliver() {
		s.check()
	}
}

// The cases in which an object is held by nobody its owner knows of, unless the
// table sees to it. Messages arrive in many orders, one connection is slow, and each object is held
// by the one process only for which the case is.
func TestProcesses_MessagesInAnyOrder_NewHolderIsKnownBeforeTheOldOneGoes(t *testing.T) {
	for what, play := range map[string]func(s *society, a, b, c *member, x ids.Object){
		"a reference is taken out of a value, which is dropped": func(s *society, a, b, c *member, x ids.Object) {
			outer := b.put(x)
			b.call(a, outer)
			s.rush()
			a.answer(0)
			s.rush()
			b.dropAll()
			c.dropAll()
			s.rush()
			a.open(outer)
			s.rush()
			if !a.open(outer) {
				s.fail("the value has not come")
			}
			a.drop(outer)
		},
		"a reference is inside a result": func(s *society, a, b, c *member, x ids.Object) {
			a.call(b)
			c.dropAll()
			s.rush()
			b.answer(0, x)
			b.dropAll()
		},
		"an argument is kept by its task": func(s *society, a, b, c *member, x ids.Object) {
			b.call(a, x)
			c.dropAll()
			for len(a.running) == 0 && s.deliver() {
				s.check()
			}
			b.dropAll()
			a.answer(0)
		},
	} {
		for seed := range uint64(40) {
			s := newSociety(t, seed, 3)
			a, b, c := s.members[0], s.members[1], s.members[2]
			x := c.put()
			c.call(b, x)
			s.rush()
			b.answer(0)
			s.rush()
			s.note("%s:", what)
			play(s, a, b, c, x)
			s.rush()
			s.ends()
		}
	}
}

// When a process dies, what it held goes, and nothing stays at the end. An
// object that somebody holds may go before its time then: the owner may not have
// heard of the holder when the last one that it knew died (letGoBy says so). So
// the oracle is asked until the death only.
func TestProcesses_OneDies_NothingStays(t *testing.T) {
	for seed := range uint64(150) {
		s := newSociety(t, seed, 3+int(seed%3))
		death := s.r.IntN(300)
		for i := range 450 {
			if i == death {
				s.members[0].dies()
			}
			if s.step(); i < death {
				s.check()
			}
		}
		s.ends()
	}
}
