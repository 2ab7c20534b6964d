package leases

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

type template = templates.Template[Class[task, channel]]

// classOf makes a class of a function's templates.
func classOf(p *pool, name string, change func(*template)) *class {
	t := &template{Kind: frame.KindTask, Name: name, FID: []byte(name), Resources: map[string]int64{"CPU": 1}}
	if change != nil {
		change(t)
	}
	k := p.ClassFor(t)
	k.Templates++
	return k
}

// grant has the daemon grant a lease whose socket opens at once.
func grant(t *testing.T, p *pool, k *class, id uint64, change func(*wire.LeaseGrant)) *lease {
	t.Helper()
	g := &wire.LeaseGrant{ClassID: k.ID, LeaseID: id}
	if change != nil {
		change(g)
	}
	l, _ := p.Granted(g)
	if l == nil {
		t.Fatalf("lease %d went back", id)
	}
	l.Opened()
	l.Channel = new(channel)
	l.Serve()
	return l
}

// said returns what the daemons were told since the last call.
func (h *host) said() (list []string) {
	for _, x := range h.pushed {
		if e, ok := x.(elsewhere); ok {
			what := inWords(e.body)
			if e.t == wire.TClassRetire {
				what = fmt.Sprintf("retire %d", e.body.(wire.LeaseWant).ClassID)
			}
			list = append(list, fmt.Sprintf("node %d: %s", e.node, what))
		} else if what := inWords(x); what != "" {
			list = append(list, what)
		}
	}
	h.pushed = nil
	return list
}

// inWords is a message to a daemon.
func inWords(body any) string {
	switch x := body.(type) {
	case wire.LeaseWant:
		words := fmt.Sprintf("class %d: want %d, due %d, seen %d", x.ClassID, x.Want, x.Due, x.Seen)
		if x.Ticket > 0 {
			words += fmt.Sprintf(", ticket %d", x.Ticket)
		}
		return words
	case wire.LeaseReturn:
		if node := NodeOf(x.LeaseID); node > 0 {
			return fmt.Sprintf("return %d of node %d", uint32(x.LeaseID), node)
		}
		return fmt.Sprintf("return %d", x.LeaseID)
	case wire.LeaseMove:
		return fmt.Sprintf("move %d to %d", uint32(x.LeaseID), x.ClassID)
	case wire.LeaseRefused:
		return fmt.Sprintf("class %d: %d offered with ticket %d are not used", x.ClassID, x.N, x.Ticket)
	case wire.ClassDefine:
		return fmt.Sprintf("define %d %s", x.ClassID, x.Name)
	}
	return ""
}

func (h *host) says(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := h.said(); !slices.Equal(got, want) {
		t.Errorf("%s: the daemon hears %q, want %q", what, got, want)
	}
}

func fill(k *class, n int) {
	for range n {
		k.Queue.Push(new(task))
	}
}

// The daemon is told how many leases a queue could use when that number has changed by much, and after which grant it was written.
func TestAdjustWant_TellsWhenTheNumberHasChangedByMuch(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	h.says(t, "a new class", "define 0 f")
	h.looks = 9
	fill(k, 10)
	p.AdjustWant(k)
	h.says(t, "ten tasks", "class 0: want 10, due 0, seen 1")
	if k.Since != 9 || h.waits != 1 {
		t.Errorf("the queue waits since look %d, told %d times", k.Since, h.waits)
	}
	fill(k, 9)
	p.AdjustWant(k)
	h.says(t, "less than twice as many")
	fill(k, 1)
	p.AdjustWant(k)
	h.says(t, "twice as many", "class 0: want 20, due 0, seen 1")
	l, _ := p.Granted(&wire.LeaseGrant{ClassID: k.ID, LeaseID: 5})
	if k.Want != 19 {
		t.Errorf("after a grant %d are wanted", k.Want)
	}
	for range 20 {
		k.Queue.Pop()
	}
	p.AdjustWant(k)
	h.says(t, "the queue is empty", "class 0: want 0, due 0, seen 2")
	fill(k, 1)
	p.AdjustWant(k)
	h.says(t, "a lease is being opened for the task")
	l.Opened()
	h.successor = true
	p.AdjustWant(k)
	h.says(t, "the socket is open, and a successor has counted no grants", "class 0: want 1, due 0, seen 0")
	fill(k, 5*MaxWant)
	p.AdjustWant(k)
	h.says(t, "very many tasks", fmt.Sprintf("class 0: want %d, due 0, seen 0", MaxWant))
}

// The next task goes to the lease with the least to do that takes tasks, up to the depth of its class.
func TestNext_LeaseWithTheLeastToDo_UpToTheDepth(t *testing.T) {
	p, _ := newPool(t)
	k := classOf(p, "f", nil)
	a, b := grant(t, p, k, 1, nil), grant(t, p, k, 2, nil)
	k.Paces[0].Depth = 2
	if p.Next(k) != nil {
		t.Error("an empty queue has a next lease")
	}
	fill(k, 9)
	var got []uint64
	for l := p.Next(k); l != nil; l = p.Next(k) {
		k.Queue.Pop()
		l.Sent(4)
		got = append(got, l.ID)
	}
	if !slices.Equal(got, []uint64{1, 2, 1, 2}) || k.Since != 4 {
		t.Errorf("the tasks went to %v", got)
	}
	a.Answered(5000)
	if a.Busy != 1 || k.Paces[0].Micros != 5000 || k.Paces[0].Depth != 1 {
		t.Errorf("after an answer: %d tasks, %+v", a.Busy, k.Paces[0])
	}
	b.CameBack()
	b.CameBack()
	for what, change := range map[string]func(on bool){
		"it is paused": func(on bool) {
			if b.Pause(); !on {
				b.Resume()
			}
		},
		"its task waits for an object": b.Block,
		"it is recalled":               func(on bool) { b.Recall = on },
	} {
		if change(true); p.Next(k) != nil {
			t.Errorf("%s, and gets a task", what)
		}
		if change(false); p.Next(k) != b {
			t.Errorf("%s no more, and gets no task", what)
		}
	}
}

// A lease that has nothing to do serves a class that waits and asks for the same, and is looked at later if there is none.
func TestLeaseIdle_ServesAnotherClassOfItsShape(t *testing.T) {
	p, h := newPool(t)
	k, other := classOf(p, "f", nil), classOf(p, "g", nil)
	foreign := classOf(p, "h", func(t *template) { t.Resources = map[string]int64{"GPU": 1} })
	fill(foreign, 1)
	foreign.Note()
	l := grant(t, p, k, 1, nil)
	h.said()
	p.LeaseIdle(l)
	if h.says(t, "nobody asks for the same"); !l.idle || len(h.timers) != 1 || p.IdleLook.IsZero() {
		t.Fatalf("the lease has nothing to do: %v, %d timers", l.idle, len(h.timers))
	}
	fill(other, 1)
	if p.Next(other) != l || l.Class != other || len(k.Leases) != 0 || !slices.Equal(other.Leases, []*lease{l}) {
		t.Error("a class that waits does not get the lease of another one that has nothing to do")
	}
	h.says(t, "it serves the other class", "move 1 to 1")
	l.Sent(0)
	other.Queue.Pop()
	other.Note()
	fill(k, 1)
	k.Note()
	l.Answered(1)
	h.pumped = nil
	p.LeaseIdle(l)
	h.says(t, "it serves the first class again", "move 1 to 0")
	if l.Class != k || !slices.Equal(h.pumped, []*class{k}) {
		t.Error("the class that waits gets no lease")
	}
}

// What has nothing to do goes back after its patience, what is recalled or of a worse choice at once.
func TestLeases_WithoutWork_GoBack(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", func(t *template) { t.Fallback = []*template{{}} })
	kept, better, recalled, busy := grant(t, p, k, 1, nil), grant(t, p, k, 2, func(g *wire.LeaseGrant) { g.Better, g.Choice = true, 1 }), grant(t, p, k, 3, nil), grant(t, p, k, 4, nil)
	busy.Sent(0)
	h.said()
	p.LeaseIdle(kept)
	p.LeaseIdle(better)
	h.says(t, "a better choice may come", "return 2")
	p.LeaseRecalled(3)
	p.LeaseRecalled(4)
	p.LeaseRecalled(99)
	h.says(t, "others wait", "return 3")
	if !recalled.Gone || !better.Gone || better.Channel.flushed != 1 || better.Channel.closed != 1 || busy.Gone || !busy.Recall {
		t.Error("a lease is kept that others wait for, or one that works went back")
	}
	p.ReturnIdle()
	h.says(t, "before its patience is over")
	kept.IdleAt = time.Now().Add(-idleLease)
	p.ReturnIdle()
	h.says(t, "after its patience", "return 1")
	p.Drop(kept, wire.LeaseReturn{LeaseID: 1})
	h.says(t, "it is gone already")
	busy.Answered(1)
	p.LeaseIdle(busy)
	h.says(t, "the recalled one has done its work", "return 4")
	if len(p.Leases) != 0 || len(k.Leases) != 0 {
		t.Errorf("%d leases are left, %d of the class", len(p.Leases), len(k.Leases))
	}
}

// A grant that nobody wants, or of a choice that does not exist, goes back.
func TestGranted_NobodyWantsIt_GoesBack(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	h.said()
	for id, g := range map[uint64]*wire.LeaseGrant{1: {ClassID: 9, LeaseID: 1}, 2: {ClassID: k.ID, LeaseID: 2, Choice: 1}, 3: {ClassID: k.ID, LeaseID: 3, Choice: -1}} {
		if l, _ := p.Granted(g); l != nil || len(p.Leases) != 0 {
			t.Errorf("lease %d is kept", id)
		}
		h.says(t, "it goes back", fmt.Sprintf("return %d", id))
	}
}

// A class goes when no template and no lease belongs to it, with its shape.
func TestDropClass_LastTemplateAndLease(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	l := grant(t, p, k, 1, nil)
	k.Templates--
	if p.DropClass(k); len(p.Classes) != 1 || p.Shapes() != 1 {
		t.Error("a class with a lease went")
	}
	h.said()
	if p.Drop(l, wire.LeaseReturn{LeaseID: 1}); len(p.Classes)+len(p.ByClass)+p.Shapes() != 0 {
		t.Error("a class that nothing belongs to stays")
	}
	h.says(t, "both go", "return 1", "class 0: want 0, due 0, seen 0")
}

// A class that waits for its first choice tells how many tasks are due, and an alternative serves one task that is due.
func TestCountDue_TasksThatHaveWaitedForTheFirstChoice(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", func(t *template) { t.AfterMs, t.Fallback = 1000, []*template{{}} })
	h.said()
	now := Ms(time.Now())
	for _, ago := range []uint32{5000, 2000, 100, 50} {
		k.Queue.Push(&task{since: now - ago})
	}
	p.AdjustWant(k)
	h.says(t, "two are due", "class 0: want 4, due 2, seen 1")
	if len(h.timers) != 1 || h.timers[0].d < 500*time.Millisecond || h.timers[0].d > 950*time.Millisecond {
		t.Fatalf("the alarm is %+v", h.timers)
	}
	l := grant(t, p, k, 1, func(g *wire.LeaseGrant) { g.Choice = 1 })
	if p.Next(k) != l {
		t.Error("a task that is due gets no alternative")
	}
	k.Queue.Pop()
	l.Sent(0)
	if l.Answered(1); p.Next(k) != nil {
		t.Error("an alternative serves a second task")
	}
	k.Queue.Pop()
	early := grant(t, p, k, 2, func(g *wire.LeaseGrant) { g.Choice = 1 })
	if p.Next(k) != nil {
		t.Error("an alternative serves a task that is not due")
	}
	p.Drop(early, wire.LeaseReturn{LeaseID: 2})
	never := grant(t, p, k, 3, func(g *wire.LeaseGrant) { g.Choice, g.Never = 1, true })
	if p.Next(k) != never {
		t.Error("a task waits for a first choice that never comes")
	}
	k.Queue.Pop()
	k.Queue.Pop()
	h.said()
	if p.AdjustWant(k); !h.timers[0].stopped {
		t.Error("the alarm rings for an empty queue")
	}
	k.Bad = fault.New(fault.TaskUnschedulable, "no node is large enough")
	fill(k, 1)
	h.said()
	h.timers[0].ring()
	h.says(t, "a class that cannot run")
}

// A class that the program cannot call any more goes when its last lease serves another class.
func TestLeaseIdle_LastLeaseOfARetiredClassIsMoved_TheClassGoes(t *testing.T) {
	p, _ := newPool(t)
	k, other := classOf(p, "f", nil), classOf(p, "g", nil)
	l := grant(t, p, k, 1, nil)
	k.Templates--
	fill(other, 1)
	other.Note()
	if p.LeaseIdle(l); p.Classes[k.ID] != nil || p.Classes[other.ID] != other || l.Class != other {
		t.Error("the class stays, or its lease")
	}
}

// Sockets that are being opened serve tasks that are due.
func TestAdjustWant_LeasesAreBeingOpened_FewerAreDue(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", func(t *template) { t.AfterMs, t.Fallback = 1000, []*template{{}} })
	if !k.Waits() || classOf(p, "g", nil).Waits() {
		t.Error("another class waits for its first choice")
	}
	for range 3 {
		k.Queue.Push(&task{since: Ms(time.Now()) - 5000})
	}
	l, _ := p.Granted(&wire.LeaseGrant{ClassID: k.ID, LeaseID: 1})
	h.said()
	p.AdjustWant(k)
	h.says(t, "one of three is being opened", fmt.Sprintf("class %d: want 2, due 2, seen 2", k.ID))
	k.Unwanted()
	p.AdjustWant(k)
	h.says(t, "the daemon has dropped the want", fmt.Sprintf("class %d: want 2, due 2, seen 2", k.ID))
	l.Opened()
	p.AdjustWant(k)
	h.says(t, "the socket is open and has no task", fmt.Sprintf("class %d: want 3, due 3, seen 2", k.ID))
}

// Each lease has a slot of its own on the page of begun tasks, until it is given back.
func TestGranted_EachLeaseHasASlot(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	a, page := p.Granted(&wire.LeaseGrant{ClassID: k.ID, LeaseID: 1})
	b, same := p.Granted(&wire.LeaseGrant{ClassID: k.ID, LeaseID: 2})
	if a.Slot() == 0 || b.Slot() == 0 || a.Slot() == b.Slot() || page < 0 || page != same || len(h.logged) != 0 {
		t.Fatalf("slots %d and %d, pages %d and %d, %q", a.Slot(), b.Slot(), page, same, h.logged)
	}
	mark := progress.OpenMark(page, b.Slot(), b.ID)
	mark.Set(7)
	mark.Close()
	if seq, known := p.GiveSlotBack(b); seq != 7 || !known || b.Slot() != 0 {
		t.Errorf("the worker began task %d, known %v", seq, known)
	}
	b.Lost = []*task{{}}
	p.Drop(b, wire.LeaseReturn{LeaseID: 2})
	slot := a.Slot()
	a.Lost = []*task{{}}
	if p.Drop(a, wire.LeaseReturn{LeaseID: 1}); a.Slot() != slot {
		t.Error("the slot of a lease with lost tasks is given back before it is read")
	}
}

// What this process keeps only for tasks that may come counts as free: it goes back before a want with alternatives is told.
func TestAdjustWant_ClassWithAlternatives_IdleLeasesOfOthersGoBackFirst(t *testing.T) {
	p, h := newPool(t)
	k, other := classOf(p, "f", func(t *template) { t.Fallback = []*template{{}} }), classOf(p, "g", nil)
	idle, busy := grant(t, p, other, 1, nil), grant(t, p, other, 2, nil)
	busy.Sent(0)
	p.LeaseIdle(idle)
	own := grant(t, p, k, 3, nil)
	p.LeaseIdle(own)
	fill(k, 5)
	h.said()
	p.AdjustWant(k)
	h.says(t, "the first choice is to be taken when it is free", "return 1", "class 0: want 5, due 0, seen 2")
	if busy.Gone || own.Gone {
		t.Error("a lease that works, or one of the class itself, went back")
	}
}

// A class whose last lease has gone, or serves another class now, keeps no memory for leases.
func TestRemove_LastLease_ListGoes(t *testing.T) {
	p, _ := newPool(t)
	a, b := classOf(p, "a", nil), classOf(p, "b", nil)
	var list []*lease
	for id := range uint64(5) {
		a.Want++
		list = append(list, grant(t, p, a, 1+id, nil))
	}
	for _, l := range list[1:] {
		p.ReturnLease(l)
	}
	if len(a.Leases) != 1 || a.Leases[0] != list[0] {
		t.Fatalf("one lease is left: %v", a.Leases)
	}
	p.moveLease(list[0], b)
	if a.Leases != nil || len(b.Leases) != 1 {
		t.Errorf("the lease has moved: room for %d at the class before, %d leases at the other one", cap(a.Leases), len(b.Leases))
	}
	p.ReturnLease(list[0])
	if b.Leases != nil {
		t.Errorf("no lease is left, and there is room for %d", cap(b.Leases))
	}
}
