package leases

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/pace"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A class asks for as many leases as its fastest choice needs, and for one per task while it waits for its first choice alone.
func TestShare_FirstChoiceWaitedForAlone_OneTask(t *testing.T) {
	for after, want := range map[int64]int{0: 5, 1: 1} {
		k := &class{after: after, Paces: []pace.Pace{{Depth: 7}, {Depth: 5}}}
		if got := k.share(); got != want {
			t.Errorf("after %d ms: %d, want %d", after, got, want)
		}
	}
}

// Who may have one more task of a long queue: a lease that takes tasks, with the least to do, when the queue has
// enough for all and no lease has come lately.
func TestAhead_WhichLease(t *testing.T) {
	fill := func(k *class, n int) {
		for range n {
			k.Queue.Push(&task{})
		}
	}
	for _, x := range []struct {
		what   string
		queue  int
		change func(k *class)
		want   int // of its leases; -1: none
	}{
		{"the queue has enough for all", 6, nil, 1},
		{"the queue has not enough for all", 5, nil, -1},
		{"a lease came just now", 6, func(k *class) { k.Changed = time.Now() }, -1},
		{"the first choice is waited for alone", 6, func(k *class) { k.after = 1 }, -1},
		{"the one with less to do takes nothing", 6, func(k *class) { k.Leases[1].Paused = true }, 0},
		{"a better one may come in its place", 6, func(k *class) { k.Leases[1].better = true }, 0},
		{"the one with less to do has enough", 6, func(k *class) { k.Leases[1].Busy = 3 }, 0},
		{"both have enough", 6, func(k *class) { k.Leases[0].Busy, k.Leases[1].Busy = 3, 3 }, -1},
		{"tasks are long", 9, func(k *class) { k.Paces[0].Deep = 0 }, 1},
	} {
		k := &class{Paces: []pace.Pace{{Depth: 1, Deep: 3}}, Changed: time.Now().Add(-time.Hour)}
		for busy := range 2 {
			k.Leases = append(k.Leases, &lease{Class: k, Channel: &channel{}, Busy: 2 - 2*busy})
		}
		fill(k, x.queue)
		if x.change != nil {
			x.change(k)
		}
		got := -1
		if l := new(pool).deeper(k); l != nil {
			got = map[*lease]int{k.Leases[0]: 0, k.Leases[1]: 1}[l]
		}
		if got != x.want {
			t.Errorf("%s: lease %d, want %d", x.what, got, x.want)
		}
	}
	few := &class{Paces: []pace.Pace{{Deep: 1}}, Changed: time.Now().Add(-time.Hour)}
	if new(pool).deeper(few) != nil {
		t.Error("without leases there is one")
	}
	few.Leases = []*lease{{Class: few, Channel: &channel{}}}
	if fill(few, 1); new(pool).deeper(few) != nil {
		t.Error("the queue has less than two tasks for each lease")
	}
	if fill(few, 1); new(pool).deeper(few) == nil {
		t.Error("the queue has two tasks for its one lease")
	}
}

// A worker of another node has as many more tasks as it runs during a round trip, from the queue of a class and from a
// long one. What runs for an unknown time is sent one at a time.
func TestNext_WorkerFarAway_HasMoreTasks(t *testing.T) {
	for _, x := range []struct {
		pace  pace.Pace
		way   time.Duration
		queue int
		want  int // how many tasks the worker has
	}{
		{pace.Pace{Micros: 1000, Depth: 2, Deep: 5}, 0, 4, 2},
		{pace.Pace{Micros: 1000, Depth: 2, Deep: 5}, 20 * time.Millisecond, 100, 25},
		{pace.Pace{Micros: 1000, Depth: 2, Deep: 5}, 20 * time.Millisecond, 25, 22},
		{pace.Pace{Micros: 50_000, Depth: 1}, 20 * time.Millisecond, 100, 2},
		{pace.Pace{}, 20 * time.Millisecond, 100, 1},
	} {
		p, h := newPool(t)
		h.way = x.way
		k := p.DefineClass(0, "f", &template{Name: "f"})
		k.Paces[0] = x.pace
		for range x.queue {
			k.Queue.Push(&task{})
		}
		p.Offered(&wire.LeaseOffer{ClassID: 0, Node: 2, N: 1})
		l := p.GrantedAt(2, &wire.LeaseGrant{ClassID: 0, LeaseID: 2<<32 | 1})
		l.Channel, k.Changed = &channel{}, time.Now().Add(-time.Hour)
		l.Opened()
		l.Serve()
		for p.Next(k) == l {
			k.Queue.Pop()
			l.Sent(0)
		}
		if l.Busy != x.want {
			t.Errorf("%+v, a way of %v, a queue of %d: the worker has %d tasks, want %d", x.pace, x.way, x.queue, l.Busy, x.want)
		}
	}
}
