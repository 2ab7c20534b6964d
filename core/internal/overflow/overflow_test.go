package overflow

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/record"
)

// heard writes down what a head hears.
type heard []string

func (h *heard) note(format string, args ...any) { *h = append(*h, fmt.Sprintf(format, args...)) }

func (h *heard) Want(client uint64, class uint32, w place.Want) {
	where := ""
	if w.Home {
		where = ", also here"
	}
	if len(w.Near) > 0 {
		where += fmt.Sprintf(", near %d", w.Near)
	}
	h.note("want %d/%d: %d, %d due, %d offered, %s of job %s needs %s%s", client, class, w.N, w.Due, w.Offered, w.Name, w.Job, w.Needs, where)
}
func (h *heard) Stock(s resource.Stock) { h.note("stock %s", s.Free) }
func (h *heard) Settled(ticket uint64, took int, s resource.Stock) {
	h.note("ticket %d: %d, stock %s", ticket, took, s.Free)
}
func (h *heard) Unused(ticket uint64) { h.note("ticket %d is not used", ticket) }

func (h *heard) ActorRefused(i record.Instance, ticket uint64, s resource.Stock) {
	h.note("actor %x is refused, ticket %d, stock %s", i.Actor[0], ticket, s.Free)
}

// A daemon's reporter tells the head what the scheduler decides, and what is free when that has changed.
func TestReporter_TellsTheHead(t *testing.T) {
	l, err := resource.NewLedger(resource.Set{"CPU": 2 * resource.Unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := sched.New(sched.Options{Ledger: l, MaxStarts: 2, Cluster: true})
	var h heard
	r := New(&h)
	obey := func(want ...string) {
		t.Helper()
		h = nil
		for _, a := range m.Actions() {
			r.CarryOut(a, m)
		}
		r.Stock(m)
		if !slices.Equal(h, want) {
			t.Errorf("the head hears %q, want %q", []string(h), want)
		}
	}
	obey(`stock {"CPU": 2}`)
	obey()
	m.AddClient(1, ids.JobOf(3))
	m.DefineClass(1, sched.Class{ID: 5, Need: resource.Set{"b": resource.Unit}, Name: "f"})
	m.Want(1, 5, 2)
	obey(`want 1/5: 2, 0 due, 0 offered, f of job 00000003 needs [{"b": 1}]`)
	m.AddGuest(2, ids.JobOf(4))
	m.DefineClass(2, sched.Class{ID: 1, Need: resource.Set{"CPU": resource.Unit}})
	m.UpdateWant(2, 1, sched.WantUpdate{N: 3, Seen: 1, Ticket: 70})
	obey(`ticket 70: 2, stock {}`) // and what is free is not said twice
	m.Want(2, 1, 0)
	obey(`stock {"CPU": 2}`)
	// Where the head may choose this node, too, it hears before what is free here.
	m.SetCompany(true)
	m.DefineClass(1, sched.Class{ID: 6, Need: resource.Set{"CPU": resource.Unit}, Name: "g"})
	m.UpdateWant(1, 6, sched.WantUpdate{N: 2, Seen: 1, Near: []uint32{4}})
	obey(`want 1/6: 2, 0 due, 0 offered, g of job 00000003 needs [{"CPU": 1}], also here, near [4]`)
	m.DefineClass(2, sched.Class{ID: 2, Need: resource.Set{"CPU": resource.Unit / 2}})
	m.UpdateWant(2, 2, sched.WantUpdate{N: 1, Seen: 1, Ticket: 71})
	m.UpdateWant(1, 6, sched.WantUpdate{N: 3, Seen: 1})
	obey(`ticket 71: 1, stock {"CPU": 0.5}`, `want 1/6: 2, 0 due, 0 offered, g of job 00000003 needs [{"CPU": 1}], also here`)
	r.Unused(9)
	if h[len(h)-1] != "ticket 9 is not used" {
		t.Errorf("the head hears %q", h)
	}
}

func TestReporter_OfALoneNode_DoesNothing(t *testing.T) {
	r := New(nil)
	if r != nil {
		t.Fatal("a lone node has a reporter")
	}
	r.CarryOut(sched.Settled{}, nil)
	r.Stock(nil)
	r.Unused(1)
}
