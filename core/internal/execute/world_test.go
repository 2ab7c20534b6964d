package execute

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

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
	from   *sender
	seq    uint32
	group  string
	again  bool
	stands int
	call   *Call
	late   bool // it is deferred
	held   int  // objects that it holds
	stops  bool // its cancellation was asked for while it ran
	items  *items
}

// sender is a caller.
type sender struct {
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
	mayEnd  bool // the worker may end before the test does
	groups  []string
	senders []*sender
	threads []*thread
	leaver  *wait.Wait       // of the thread that ends the actor, until the last call has ended
	left    bool             // the program ends the actor
	ended   string           // why no more calls come
	calls   map[string]*sent // by caller and sequence number
	all     []*sent
	lent    bool // as the daemon was told
	unpins  int
	ahead   int // of their callers, which all generators together may be; 0: no limit
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
	if seed%3 == 0 {
		x.ahead = 4
		x.w.LimitFeeds(uint64(x.ahead))
	}
	return x
}

// pass lets time pass, so that the worker's timers run.
func (x *world) pass(d time.Duration) {
	x.s.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	x.s.mu.Lock()
}

func name(p *sender, seq uint32) string { return fmt.Sprintf("%s.%d", p.Addr, seq) }

func (x *world) join() {
	role := wire.RoleLease
	if x.actor {
		role = wire.RoleActor
	}
	c, pipe := x.s.joins(x.w, fmt.Sprint("caller", len(x.s.callers)), role)
	p := &sender{Caller: c, pipe: pipe}
	pipe.told = func(seq uint32) {
		k := x.calls[name(p, seq)]
		if k == nil || k.stands == over {
			x.t.Fatalf("%s is answered although it was not sent, or is over", name(p, seq))
		}
		k.stands = over
	}
	pipe.item = func(seq uint32, index uint64) { x.gets(x.calls[name(p, seq)], index) }
	for i, group := range x.groups {
		says(x.t, c, templateOf(uint64(i+1), func(f *frame.Template) { f.Group = group }))
		for j, limit := range itemLimits {
			says(x.t, c, templateOf(generatorTemplate(i, j), func(f *frame.Template) {
				f.Group, f.Flow = group, frame.Flow{Mode: frame.FlowStream, Limit: limit}
			}))
		}
	}
	x.senders = append(x.senders, p)
}

// in returns the calls of present callers that stand somewhere, in the order in which they were sent.
func (x *world) in(stands ...int) (list []*sent) {
	for _, k := range x.all {
		if slices.Contains(stands, k.stands) {
			list = append(list, k)
		}
	}
	return list
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (x *world) step() {
	r, w := x.r, x.w
	var here []*sender
	for _, p := range x.senders {
		if !p.gone {
			here = append(here, p)
		}
	}
	fetch, run := x.in(fetching), x.in(begun)
	switch n := r.IntN(150); {
	case n < 3 || len(here) == 0:
		x.join()
	case n < 4:
		p := pick(r, here)
		if stuck := x.awaitRoom(); len(stuck) > 0 {
			p = pick(r, stuck).from
		}
		x.leaves(p)
	case n < 30:
		x.sends(pick(r, here))
	case n < 51:
		x.takes(pick(r, x.groups))
	case n < 66 && len(fetch) > 0:
		x.fetched(pick(r, fetch))
	case n < 78 && len(run) > 0:
		x.answers(pick(r, run))
	case n < 82 && len(run) > 0:
		k := pick(r, run)
		k.stands = blocked
		w.Block()
	case n < 86:
		if list := x.in(blocked); len(list) > 0 {
			pick(r, list).stands = begun
			w.Unblock()
		}
	case n < 90:
		x.cancels(pick(r, here))
	case n < 93:
		x.pass(time.Duration(r.IntN(8000)) * time.Microsecond)
		w.GiveOverdueBack()
	case n < 96:
		x.arrives()
	case n < 121:
		x.yields()
	case n < 134:
		x.consumes(pick(r, here))
	case n < 144:
		x.comes(pick(r, x.groups))
	case n < 145 && x.mayEnd && r.IntN(2) == 0:
		x.leavesOrStops()
	default:
		p := pick(r, here)
		p.pipe.full = !p.pipe.full
		p.pipe.Flush()
	}
	x.flush()
	x.comeBack()
}

// cancels cancels a call that runs, waits, is over, or comes later.
func (x *world) cancels(p *sender) {
	seq := uint32(x.r.IntN(int(p.seq) + 2))
	if run := x.in(begun); len(run) > 0 && x.r.IntN(3) == 0 {
		k := pick(x.r, run)
		p, seq = k.from, k.seq
	}
	id := taskID(p.Caller, seq)
	k := x.calls[name(p, seq)]
	if k != nil && slices.Contains([]int{fetching, begun, blocked}, k.stands) {
		k.stops = true
	}
	x.w.Cancel(&wire.Cancel{TaskID: id[:]})
	if x.r.IntN(2) == 0 {
		x.w.TakeCancelled()
	}
}

// flush sends what waits, as the poller does within a millisecond.
func (x *world) flush() {
	for _, p := range x.senders {
		p.pipe.Flush()
	}
}

func (x *world) sends(p *sender) {
	if p.pipe.paused {
		return // it is not read
	}
	p.seq++
	i := x.r.IntN(len(x.groups))
	k := &sent{from: p, seq: p.seq, group: x.groups[i]}
	x.calls[name(p, p.seq)] = k
	x.all = append(x.all, k)
	x.s.tasks[taskID(p.Caller, p.seq)] = name(p, p.seq)
	if x.r.IntN(4) == 0 {
		x.sendsGenerator(k, i)
		return
	}
	k.again = x.actor && x.r.IntN(5) == 0
	var had []int
	if k.again {
		had = []int{}
	}
	says(x.t, p.Caller, resumed(p.seq, uint64(i+1), nil, had))
}

// takes has the program take a call, which must be the first of its caller in the lane. It returns false when there is none.
func (x *world) takes(group string) bool {
	if x.ended != "" {
		return false // the program was told so
	}
	k := x.w.Next(x.w.Lane(group))
	if k == nil {
		for _, q := range x.in(queued) {
			if q.group == group && x.mayBegin(q) {
				x.t.Fatalf("nothing is given to the program although %s may begin", name(q.from, q.seq))
			}
		}
		return false
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
	if x.left {
		x.t.Fatalf("%s begins although the program ends the actor", name(mine.from, mine.seq))
	}
	mine.stands, mine.call = fetching, k
	return true
}

// mayBegin reports whether a queued call may begin: it does not wait for its arguments, and no earlier call of
// its caller does, which it may overtake only when it runs again.
func (x *world) mayBegin(q *sent) bool {
	if x.left || q.late {
		return false
	}
	return q.again || !slices.ContainsFunc(x.in(queued), func(k *sent) bool {
		return k.late && k.from == q.from && k.group == q.group && int32(k.seq-q.seq) < 0
	})
}

// fetched ends the fetching of a call's arguments in one of its ways.
func (x *world) fetched(k *sent) {
	w, r := x.w, x.r
	if r.IntN(3) == 0 {
		k.call.Hold(new(refs.Object))
		k.held++
	}
	switch n := r.IntN(10); {
	case k.call.Unwanted():
		answers(w, k.call, 0)
		x.ends(k)
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

// answers ends a call that has begun in one of its ways.
func (x *world) answers(k *sent) {
	flags := pick(x.r, []int{0, 0, wire.ReplyAppError, wire.ReplyExiting})
	if k.items != nil && flags == wire.ReplyAppError {
		flags |= wire.ReplyLastItem
		if got, want := x.w.Raises(k.call), k.items.raises(); got != want {
			x.t.Fatalf("the exception of %s becomes item %d, want %d: %+v", name(k.from, k.seq), got, want, k.items)
		}
	}
	answers(x.w, k.call, flags)
	x.ends(k)
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

func (x *world) leaves(p *sender) {
	p.gone, p.pipe.closed = true, true
	p.Gone(nil)
	for _, k := range x.calls {
		if k.from == p && k.stands == queued {
			k.stands = over
		}
	}
}
