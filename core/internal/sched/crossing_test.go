package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// The client of these tests follows the rules of core/internal/leases/due.go. Each
// message between the client and the machine is on the way for a random time, and messages
// arrive in order.
const (
	waitsFor   = 30 * time.Millisecond // Class.After
	mostOnWay  = 4 * time.Millisecond  // one way
	startsIn   = 3 * time.Millisecond  // a worker
	tooLongFor = 5*mostOnWay + 2*startsIn
)

type crossing struct {
	t   *testing.T
	r   *rand.Rand
	m   *Machine
	now time.Duration

	up, down           []parcel // in order of arrival
	lastUp, lastDown   time.Duration
	queue              []time.Duration // when each waiting task got ready
	granted            uint64
	told               WantUpdate
	running            []parcel // what ends a lease
	early, crossed, n2 int
}

// parcel is something that happens at a time.
type parcel struct {
	at time.Duration
	do func()
}

func (x *crossing) send(list *[]parcel, last *time.Duration, do func()) {
	*last = max(*last, x.now+time.Duration(x.r.Int64N(int64(mostOnWay))))
	*list = append(*list, parcel{*last, do})
}

// tell states the want anew if it changed.
func (x *crossing) tell() {
	w := WantUpdate{N: len(x.queue)}
	for _, ready := range x.queue {
		if x.now < ready+waitsFor {
			break
		}
		w.Due++
	}
	if w.N != x.told.N || w.Due != x.told.Due {
		x.told = w
		w.Seen = x.granted + 1
		x.send(&x.up, &x.lastUp, func() { x.m.UpdateWant(1, 1, w) })
	}
}

func (x *crossing) obey() {
	for _, a := range x.m.Actions() {
		switch a := a.(type) {
		case StartWorker:
			x.running = append(x.running, parcel{x.now + startsIn, func() { x.m.WorkerReady(a.Worker) }})
		case StopWorker:
			x.running = append(x.running, parcel{x.now + startsIn, func() { x.m.WorkerGone(a.Worker) }})
		case Grant:
			if x.r.IntN(12) == 0 { // its worker has died, which the machine hears next
				x.m.Undelivered(a)
				x.m.WorkerGone(a.Worker)
				x.obey()
				continue
			}
			x.send(&x.down, &x.lastDown, func() { x.serve(a) })
		}
	}
}

// serve is a grant that has arrived.
func (x *crossing) serve(g Grant) {
	x.granted++
	x.told.N, x.told.Due = max(0, x.told.N-1), max(0, x.told.Due-1)
	back := func() { x.send(&x.up, &x.lastUp, func() { x.m.Return(1, g.Lease, false, false) }) }
	switch {
	case len(x.queue) == 0:
		back()
	case g.Choice > 0 && x.now < x.queue[0]+waitsFor:
		x.crossed++
		x.tell()
		back()
	default:
		if waited := x.now - x.queue[0]; waited > waitsFor+tooLongFor {
			x.t.Fatalf("a task waited for %v, although an alternative was free", waited)
		}
		if g.Choice > 0 {
			x.n2++
		} else {
			x.early++
		}
		x.queue = x.queue[1:]
		runs := time.Duration(x.r.Int64N(int64(40 * time.Millisecond)))
		x.running = append(x.running, parcel{x.now + runs, back})
	}
	x.tell()
}

// TestUpdateWant_MessagesCross_EachTaskWaitsItsOwnTime runs a client against the
// machine, with tasks that come and are cancelled at random. Alternatives are
// always free, so each task begins soon after its wait, and never before it
// unless with the first choice.
func TestUpdateWant_MessagesCross_EachTaskWaitsItsOwnTime(t *testing.T) {
	first, second, crossed := 0, 0, 0
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l, err := resource.NewLedger(resource.Set{"CPU": 400 * resource.Unit}, map[string][]string{"GPU": {"0"}})
			if err != nil {
				t.Fatal(err)
			}
			x := &crossing{t: t, r: rand.New(rand.NewPCG(seed, 2)), m: New(Options{Ledger: l, MaxIdle: 50, MaxStarts: 50})}
			x.m.AddClient(1, ids.JobOf(1))
			x.m.DefineClass(1, Class{ID: 1, Name: "f", Need: resource.Set{"CPU": resource.Unit, "GPU": resource.Unit}, After: waitsFor,
				Else: []Choice{{Need: resource.Set{"CPU": resource.Unit}}}})
			x.run()
			first, second, crossed = first+x.early, second+x.n2, crossed+x.crossed
		})
	}
	if first == 0 || second == 0 || crossed == 0 {
		t.Errorf("%d tasks had the first choice, %d the alternative, %d grants came for nothing: each must happen", first, second, crossed)
	}
}

func (x *crossing) run() {
	const step = 250 * time.Microsecond
	for ; x.now < 400*time.Millisecond || len(x.queue) > 0; x.now += step {
		if x.now > 2*time.Second {
			x.t.Fatalf("%d tasks never ran", len(x.queue))
		}
		for _, list := range []*[]parcel{&x.up, &x.down, &x.running} {
			var now []parcel
			*list = slices.DeleteFunc(*list, func(p parcel) bool {
				if p.at <= x.now {
					now = append(now, p)
				}
				return p.at <= x.now
			})
			for _, p := range now {
				p.do()
				x.obey()
			}
		}
		if at, ok := x.m.Next(); ok && at <= x.now {
			x.m.Advance(x.now)
			x.obey()
		}
		switch n := x.r.IntN(60); {
		case x.now >= 400*time.Millisecond:
		case n < 3:
			x.queue = append(x.queue, x.now)
		case n == 3 && len(x.queue) > 0:
			i := x.r.IntN(len(x.queue))
			x.queue = slices.Delete(x.queue, i, i+1)
		}
		x.tell()
	}
}
