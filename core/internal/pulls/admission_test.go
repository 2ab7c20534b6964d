package pulls

import (
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// Pulls take at most a quarter of the arena, the most urgent ones first.
func TestAdmission_AQuarterOfTheArena_ByPriority(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	var list []ids.Object
	for range 6 {
		list = append(list, a.id())
		a.put(&process{}, list[len(list)-1], 15*mib)
	}
	g := w.gated(2, 1, mib)
	var mu sync.Mutex
	var order []int
	var all []<-chan pinned
	want := func(i int, prio Priority) {
		done := make(chan pinned, 1)
		all = append(all, done)
		c := &process{}
		b.locked(func() {
			b.p.Want(c, list[i], prio, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
				done <- pinned{err: err}
			})
		})
	}
	want(0, Prefetch)
	receive(t, g.at)
	hold := make(chan struct{})
	w.locked(func() {
		w.change = func(_, _ uint32, c net.Conn) (net.Conn, error) {
			return &gate{Conn: c, open: hold, at: make(chan struct{})}, nil
		}
	})
	want(1, Prefetch) // 30 of 32 MiB
	for i, prio := range []Priority{Prefetch, Argument, Get, Get} {
		want(2+i, prio)
	}
	b.handled(1) // what was asked before is answered
	b.locked(func() {
		if b.p.underway != 30*mib || b.p.admitted != 2 || len(b.p.queue) != 4 {
			t.Errorf("%d bytes of %d pulls are under way, %d wait", b.p.underway, b.p.admitted, len(b.p.queue))
		}
		b.p.Want(&process{}, list[2], Get, func(error) {}) // more urgent from now on
	})
	close(g.open) // the others go on one after the other, because object 1 takes the rest of the quarter
	for i := range all {
		if i == 1 {
			continue
		}
		if x := receive(t, all[i]); x.err != nil {
			t.Error(x.err)
		}
	}
	close(hold)
	if x := receive(t, all[1]); x.err != nil {
		t.Error(x.err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []int{0, 2, 4, 5, 3, 1}; !slices.Equal(order, want) {
		t.Errorf("they came in the order %v, want %v", order, want)
	}
	b.locked(func() {
		if b.p.underway != 0 || b.p.admitted != 0 {
			t.Errorf("%d bytes of %d pulls are still under way", b.p.underway, b.p.admitted)
		}
	})
}

// A full store makes a pull wait. What finds no room in memory goes to a file.
func TestPull_StoreIsFull_WaitsOrUsesAFile(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	id := a.id()
	a.put(&process{}, id, 30*mib)
	holder := &process{}
	own := b.id()
	b.put(holder, own, 60*mib)
	b.get(holder, own, 60*mib) // pinned: it cannot leave
	reader := &process{}
	got := receive(t, b.ask(reader, id, Get))
	b.same(got, id, 30*mib)
	if got.at.Path == "" {
		t.Error("it is in a full arena")
	}
	// Other nodes read it from there.
	var again <-chan pinned
	a.locked(func() { a.store.Supersede(&process{}, id); a.p.Lost(id) })
	again = a.ask(reader, id, Get)
	a.same(receive(t, again), id, 30*mib)
}
