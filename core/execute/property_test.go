package execute

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// TestWorker_RandomEvents_KeepsItsPromises plays random callers and a random
// program against a worker: each call is answered or given back exactly once, the
// calls of a lane begin in the order in which their caller sent them, CPUs are
// lent and taken back in turns, and in the end nothing is left.
func TestWorker_RandomEvents_KeepsItsPromises(t *testing.T) {
	for seed := range uint64(120) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newWorld(t, seed)
				for range 300 {
					x.step()
					x.check()
				}
				x.finish()
			})
		})
	}
}

// TestWorker_SameEvents_SameEffects runs one seed twice.
func TestWorker_SameEvents_SameEffects(t *testing.T) {
	trace := func() (list []string) {
		synctest.Test(t, func(t *testing.T) {
			x := newWorld(t, 7)
			x.keeps = true
			for range 1000 {
				x.step()
			}
			list = x.s.seen
			x.finish()
		})
		return list
	}
	if a, b := trace(), trace(); len(a) < 200 || !slices.Equal(a, b) {
		t.Errorf("the effects of two equal runs differ: %d and %d", len(a), len(b))
	}
}

// Where a call stands, as its caller and the program see it.
const (
	queued = iota
	fetching
	begun
	blocked
	over
)

// sent is a call that a caller has sent.
type sent struct {
	from   *player
	seq    uint32
	group  string
	again  bool
	stands int
	call   *Call
	late   bool // it is deferred
	held   int  // objects that it holds
}

// player is a caller.
type player struct {
	*Caller
	pipe *fakePipe
	seq  uint32
	gone bool
}

// world is what surrounds the worker.
type world struct {
	t       *testing.T
	r       *rand.Rand
	w       *Worker
	s       *fakeSession
	actor   bool
	keeps   bool // the effects are kept
	groups  []string
	players []*player
	calls   map[string]*sent // by caller and sequence number
	lent    bool             // as the daemon was told
	unpins  int
}

func newWorld(t *testing.T, seed uint64) *world {
	x := &world{t: t, r: rand.New(rand.NewPCG(seed, 1)), actor: seed%2 == 1, groups: []string{""}, calls: map[string]*sent{}}
	x.w, x.s = newWorker()
	x.s.mu.Lock() // as the session does; finish gives it back
	if seed%4 == 3 {
		x.groups = append(x.groups, "io", "disk")
		if err := x.w.DeclareGroups(x.groups[1:], nil); err != nil {
			t.Fatal(err)
		}
	}
	x.w.LimitBacklog(5000, x.w.backlog.share/(64<<10))
	return x
}

// pass lets time pass, so that the worker's timers run.
func (x *world) pass(d time.Duration) {
	x.s.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	x.s.mu.Lock()
}

func name(p *player, seq uint32) string { return fmt.Sprintf("%s.%d", p.Addr, seq) }

func (x *world) join() {
	role := wire.RoleLease
	if x.actor {
		role = wire.RoleActor
	}
	c, pipe := x.s.joins(x.w, fmt.Sprint("caller", len(x.s.callers)), role)
	p := &player{Caller: c, pipe: pipe}
	pipe.told = func(seq uint32) {
		k := x.calls[name(p, seq)]
		if k == nil || k.stands == over {
			x.t.Fatalf("%s is answered although it was not sent, or is over", name(p, seq))
		}
		k.stands = over
	}
	for i, group := range x.groups {
		says(x.t, c, templateOf(uint64(i+1), func(f *frame.Template) { f.Group = group }))
	}
	x.players = append(x.players, p)
}

// in returns the calls of present callers that stand somewhere, in a fixed order.
func (x *world) in(stands ...int) (list []*sent) {
	for _, n := range slices.Sorted(maps.Keys(x.calls)) {
		if k := x.calls[n]; slices.Contains(stands, k.stands) {
			list = append(list, k)
		}
	}
	return list
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (x *world) step() {
	r, w := x.r, x.w
	var here []*player
	for _, p := range x.players {
		if !p.gone {
			here = append(here, p)
		}
	}
	fetch, run := x.in(fetching), x.in(begun)
	switch n := r.IntN(100); {
	case n < 4 || len(here) == 0:
		x.join()
	case n < 5:
		x.leaves(pick(r, here))
	case n < 30:
		x.sends(pick(r, here))
	case n < 50:
		x.takes(pick(r, x.groups))
	case n < 65 && len(fetch) > 0:
		x.fetched(pick(r, fetch))
	case n < 80 && len(run) > 0:
		k := pick(r, run)
		answers(w, k.call, pick(r, []int{0, 0, wire.ReplyAppError, wire.ReplyExiting}))
		x.ends(k)
	case n < 84 && len(run) > 0:
		k := pick(r, run)
		k.stands = blocked
		w.Block()
	case n < 88:
		if list := x.in(blocked); len(list) > 0 {
			pick(r, list).stands = begun
			w.Unblock()
		}
	case n < 91: // a call that is here, is over, or comes later
		p := pick(r, here)
		id := taskID(p.Caller, uint32(r.IntN(int(p.seq)+2)))
		w.Cancel(&wire.Cancel{TaskID: id[:]})
		if r.IntN(2) == 0 {
			w.TakeCancelled()
		}
	case n < 94:
		x.pass(time.Duration(r.IntN(8000)) * time.Microsecond)
		w.GiveOverdueBack()
	case n < 97:
		x.arrives()
	default:
		p := pick(r, here)
		p.pipe.full = !p.pipe.full
		p.pipe.Flush()
	}
	x.flush()
}

// flush sends what waits, as the poller does within a millisecond.
func (x *world) flush() {
	for _, p := range x.players {
		p.pipe.Flush()
	}
}

func (x *world) sends(p *player) {
	if p.pipe.paused {
		return // it is not read
	}
	p.seq++
	i := x.r.IntN(len(x.groups))
	k := &sent{from: p, seq: p.seq, group: x.groups[i], again: x.actor && x.r.IntN(5) == 0}
	x.calls[name(p, p.seq)] = k
	x.s.tasks[taskID(p.Caller, p.seq)] = name(p, p.seq)
	var had []int
	if k.again {
		had = []int{}
	}
	says(x.t, p.Caller, resumed(p.seq, uint64(i+1), nil, had))
}

// takes has the program take a call, which must be the first of its caller in the lane.
func (x *world) takes(group string) {
	k := x.w.Next(x.w.Lane(group))
	if k == nil {
		return
	}
	mine := x.calls[x.s.callName(k)]
	if mine.stands != queued || mine.group != group {
		x.t.Fatalf("%s is given to the program although it stands at %d in group %q", name(mine.from, mine.seq), mine.stands, mine.group)
	}
	for _, other := range x.in(queued) {
		if other.from == mine.from && other.group == group && !mine.again && int32(other.seq-mine.seq) < 0 {
			x.t.Fatalf("%s begins before %s", name(mine.from, mine.seq), name(other.from, other.seq))
		}
	}
	if mine.late {
		x.t.Fatalf("%s begins although it waits for its arguments", name(mine.from, mine.seq))
	}
	mine.stands, mine.call = fetching, k
}

// fetched ends the fetching of a call's arguments in one of its ways.
func (x *world) fetched(k *sent) {
	w, r := x.w, x.r
	if r.IntN(3) == 0 {
		k.call.Hold(new(refs.Object))
		k.held++
	}
	switch n := r.IntN(10); {
	case n < 2 && x.actor:
		k.stands, k.late = queued, true
		if !w.Defer(k.call) {
			x.ends(k)
		}
	case n < 2:
		w.GiveLost(k.call, []int{0})
		x.ends(k)
	case n < 3:
		w.AnswerFault(k.call, fault.New(fault.Internal, "it cannot run"))
		x.ends(k)
	default:
		k.stands = begun
		w.Begin(k.call)
	}
}

// ends notes that a call of somebody who has left is over: nobody hears of it.
func (x *world) ends(k *sent) {
	if k.from.gone {
		k.stands = over
	}
}

// arrives has the arguments of a deferred call come.
func (x *world) arrives() {
	for _, k := range x.in(queued) {
		if k.late {
			k.late = false
			x.w.Arrived(k.call)
			return
		}
	}
}

func (x *world) leaves(p *player) {
	p.gone, p.pipe.closed = true, true
	p.Gone(nil)
	for _, k := range x.calls {
		if k.from == p && k.stands == queued {
			k.stands = over
		}
	}
}

// check looks at the promises that hold at any time.
func (x *world) check() {
	w := x.w
	for _, line := range x.s.seen {
		var told bool
		if n, _ := fmt.Sscanf(line, "daemon: blocked %t", &told); n == 1 {
			if told == x.lent {
				x.t.Fatalf("the daemon is told twice that the CPUs are lent: %v", told)
			}
			x.lent = told
		}
		var n int
		if k, _ := fmt.Sscanf(line, "unpin %d", &n); k == 1 {
			x.unpins += n
		}
	}
	if !x.keeps {
		x.s.takes()
	}
	c := w.Counts()
	if c.Lent != x.lent || c.Blocked > 0 && !c.Lent || c.Lent && c.Blocked == 0 && c.Running == 0 {
		x.t.Fatalf("lent %v, told %v, %d block, %d run", c.Lent, x.lent, c.Blocked, c.Running)
	}
	if n := len(x.in(blocked)); c.Blocked != n {
		x.t.Fatalf("%d calls block, %d count as blocked", n, c.Blocked)
	}
	if c.Waiting == 0 && c.Backlog != 0 || c.Backlog < 0 {
		x.t.Fatalf("%d calls wait, of %d bytes", c.Waiting, c.Backlog)
	}
	if full := c.Full; full && c.Backlog <= w.backlog.most/2 {
		x.t.Fatalf("callers are held with %d bytes", c.Backlog)
	}
	w.eachLane(func(l *Lane) {
		n := 0
		for _, k := range l.queue {
			if k.deferred {
				n++
			}
		}
		if n != l.deferred {
			x.t.Fatalf("%d calls are deferred, %d count", n, l.deferred)
		}
	})
}

// finish ends everything, and then looks at what is left.
func (x *world) finish() {
	defer x.s.mu.Unlock()
	x.check()
	for round := 0; len(x.in(queued, fetching, begun, blocked)) > 0; round++ {
		if round > 10_000 {
			x.t.Fatalf("%d calls are never answered", len(x.in(queued, fetching, begun, blocked)))
		}
		for _, p := range x.players {
			p.pipe.full = false
		}
		x.flush()
		for _, k := range x.in(blocked) {
			k.stands = begun
			x.w.Unblock()
		}
		for _, k := range x.in(begun) {
			answers(x.w, k.call, 0)
			x.ends(k)
		}
		for _, k := range x.in(fetching) {
			x.w.Begin(k.call)
			k.stands = begun
		}
		x.arrives()
		for _, group := range x.groups {
			x.takes(group)
		}
		x.flush()
		x.check()
	}
	x.pass(time.Second)
	x.check()
	c := x.w.Counts()
	held := 0
	for _, k := range x.calls {
		held += k.held
	}
	if c.Running != 0 || c.Waiting != 0 || c.Backlog != 0 || c.Blocked != 0 || c.Lent || c.Full || len(x.w.canceled) != 0 || held != x.unpins && !x.keeps {
		x.t.Errorf("in the end %+v, %d cancellations are not asked for, of %d objects that were held %d are let go of", c, len(x.w.canceled), held, x.unpins)
	}
}
