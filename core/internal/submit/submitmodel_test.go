package submit

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/waiting"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// played is a world for the submitting half: a daemon, workers and a clock without processes,
// sockets and time. It keeps what the submitter asked for, and answers when the test says so.
type played struct {
	*quiet
	s    *Submitter
	r    *rand.Rand
	fail func(format string, a ...any)

	own       *playedHome
	other     *playedHome             // another node's daemon, which takes the place of one that was lost
	lost      map[uint32]bool         // nodes
	granted   uint64                  // leases, of all nodes
	held      map[uint64]*playedLease // granted and not returned, as the submitter knows it
	dialled   []func(err error)
	timers    []*playedTimer
	pipes     [][]func()         // what comes through the pipes of workers of the other node that have ended, in order
	cancelled int                // cancellations on their way to workers
	runs      func(first uint64) // a worker begins the task with this first result
}

// playedLease is a lease, and its worker.
type playedLease struct {
	id    uint64
	of    *playedHome
	class uint32
	on    *Channel
	pipe  *playedPipe
}

// playedTimer is a call that was put off.
type playedTimer struct {
	w  *played
	f  func()
	on bool
}

func (x *playedTimer) Stop() bool { was := x.on; x.on = false; return was }

func (x *playedTimer) Reset(time.Duration) bool { was := x.on; x.on = true; return was }

// playedPipe is the socket of a worker, which reads what was queued at once.
type playedPipe struct {
	Pipe
	w      *played
	out    []byte
	ended  bool     // by the submitter, or because nothing more comes through it
	dead   bool     // its worker has ended
	has    []uint32 // calls that the worker has not answered, in order: the first one runs
	mark   progress.Mark
	runs   func(first uint64)
	first  map[uint32]uint64
	latest uint32
	begun  uint32 // the call that began last
}

func (p *playedPipe) Buffer() []byte                     { return p.out }
func (p *playedPipe) Unsent() int                        { return len(p.out) }
func (p *playedPipe) Flush()                             {}
func (p *playedPipe) SendSoon()                          {}
func (p *playedPipe) TellWakeup()                        {}
func (p *playedPipe) CallAnswered(uint32, time.Duration) {}
func (p *playedPipe) FD() int                            { return -1 }
func (p *playedPipe) Refused() bool                      { return false }
func (p *playedPipe) Full() bool                         { return false }
func (p *playedPipe) Closed() bool                       { return p.ended }
func (p *playedPipe) Close()                             { p.ended = true; p.mark.Close() }
func (p *playedPipe) CloseWhenRead()                     { p.ended = true }

// SendCall implements pipe: it does what Queue does.
func (p *playedPipe) SendCall(b []byte, _ uint32, _ int, _ bool) { p.Queue(b) }

// Queue implements pipe: the worker takes the calls.
func (p *playedPipe) Queue(b []byte) {
	if p.ended {
		p.w.fail("something is sent through a socket that is closed")
	}
	used, err := frame.Each(b, func(b []byte) error {
		r, op, n, err := frame.Open(b)
		if err != nil || op != wire.OpTask {
			return err
		}
		x, err := frame.ReadTask(&r, n)
		if err != nil {
			return err
		}
		if x.Seq <= p.latest {
			p.w.fail("call %d is sent after call %d", x.Seq, p.latest)
		}
		p.latest = x.Seq
		p.has, p.first[x.Seq] = append(p.has, x.Seq), x.First
		if len(p.has) == 1 && !p.dead {
			p.begin()
		}
		return nil
	})
	if err != nil || used != len(b) {
		p.w.fail("what is sent is no list of frames: %v", err)
	}
	p.out = b[:0]
}

// begin runs the first call.
func (p *playedPipe) begin() {
	p.begun = p.has[0]
	p.mark.Set(p.begun)
	p.runs(p.first[p.has[0]])
}

// Request implements Effects; nothing here asks the daemon.
func (w *played) Request(t wire.Type, _ any, _ func(*wire.Message, error)) {
	w.fail("the daemon is asked for %s", t)
}

// Tell implements Effects: cancellations arrive at once, and nobody hears of it.
func (w *played) Tell(string, wire.Type, any, func(error)) { w.cancelled++ }

// Connect implements Effects.
func (w *played) Connect(o *Channel, _ string, hello wire.Hello, page int) {
	l := w.held[hello.LeaseID]
	var mark progress.Mark
	if page >= 0 {
		mark = progress.OpenMark(page, hello.Slot, hello.LeaseID)
	}
	w.dialled = append(w.dialled, func(err error) {
		if o.Unwanted() {
			return
		}
		if w.lost[l.of.node] {
			err = errors.New("there is no way to its node")
		}
		if err != nil {
			o.Connected(nil, err)
			return
		}
		l.on, l.pipe = o, &playedPipe{w: w, mark: mark, runs: w.runs, first: map[uint32]uint64{}}
		o.Connected(l.pipe, nil)
	})
}

// After implements Effects.
func (w *played) After(_ time.Duration, f func()) Timer {
	x := &playedTimer{w: w, f: f, on: true}
	w.timers = append(w.timers, x)
	return x
}

// Report implements Effects.
func (w *played) Report([]*waiting.Report) {}

// Warn implements Effects.
func (w *played) Warn(string) {}

// Unheld implements Effects.
func (w *played) Unheld(uint64, string, *fault.Error) {}

// playedTask is the test's own record of one task.
type playedTask struct {
	t       *Task
	runs    int // how often a worker began it
	most    int // retries
	takes   int // results of earlier tasks, whose failures would be its own
	results []*refs.Object
}

// playing is one run of the model test.
type playing struct {
	*played
	tmpls []*Template
	tasks []*playedTask
	by    map[uint64]*playedTask
	known bool // each end of a worker comes with the word of what it had begun
	large bool // there may be other nodes, and results are large
}

func newPlaying(t *testing.T, seed uint64) *playing {
	c := newQuiet(t)
	w := &played{quiet: c, s: &c.Submitter, r: rand.New(rand.NewPCG(seed, 0)), own: newPlayedHome(1), other: newPlayedHome(2), lost: map[uint32]bool{}, held: map[uint64]*playedLease{}}
	w.fail = func(format string, a ...any) {
		t.Helper()
		t.Fatalf("seed %d: %s", seed, fmt.Sprintf(format, a...))
	}
	c.fx = w
	p := &playing{played: w, by: map[uint64]*playedTask{}}
	w.runs = func(first uint64) { p.by[first].runs++ }
	for i, retries := range []int{0, 3, -1} {
		tm := &Template{Name: fmt.Sprint("f", i), FID: fmt.Appendf(nil, "function-%07d", i), Blob: []byte{1}, Returns: 1, MaxRetries: retries, RetryErrs: i == 1}
		w.s.addTemplate(tm)
		p.tmpls = append(p.tmpls, tm)
	}
	return p
}

// submit starts a task that takes up to two results of earlier ones.
func (p *playing) submit() { p.submitOf(p.tmpls[p.r.IntN(len(p.tmpls))], p.r.IntN(3)) }

func (p *playing) submitOf(tm *Template, takes int) {
	t := &Task{Template: tm, Returns: 1}
	for range takes {
		if len(p.tasks) > 0 {
			o := p.tasks[p.r.IntN(len(p.tasks))].results[0]
			p.s.table.Pin(o)
			t.AddDependency(o)
		}
	}
	p.s.MakeReturns(t, 0)
	x := &playedTask{t: t, most: tm.MaxRetries, takes: takes, results: []*refs.Object{p.s.table.FindOwned(t.First)}}
	p.tasks, p.by[t.First] = append(p.tasks, x), x
	p.s.Submit(t)
}

// connect answers a call for a socket, now and then with an error.
func (p *playing) connect() {
	if len(p.dialled) == 0 {
		return
	}
	i := p.r.IntN(len(p.dialled))
	answer := p.dialled[i]
	p.dialled = slices.Delete(p.dialled, i, i+1)
	var err error
	if p.r.IntN(8) == 0 {
		err = errors.New("nobody is there")
	}
	answer(err)
}

// open returns a lease whose worker is connected, nil if there is none.
func (p *playing) open() *playedLease {
	list := slices.Sorted(maps.Keys(p.held))
	for _, i := range p.r.Perm(len(list)) {
		if l := p.held[list[i]]; l.pipe != nil && !l.pipe.ended && !l.pipe.dead {
			return l
		}
	}
	return nil
}

// says has a worker send a frame.
func (p *playing) says(l *playedLease, b []byte) {
	if used, err := l.on.Frames(b); err != nil || used != len(b) {
		p.fail("a frame of a worker's is refused: %v", err)
	}
}

// answer has a worker answer the call that it has had for longest.
func (p *playing) answer(raises bool) {
	l := p.open()
	if l == nil || len(l.pipe.has) == 0 {
		return
	}
	b := p.run(l.pipe, raises)
	if len(l.pipe.has) > 0 {
		defer l.pipe.begin()
	}
	p.says(l, b)
}

// run ends the call that a worker has had for longest, and returns the answer.
func (p *playing) run(at *playedPipe, raises bool) []byte {
	x := frame.Reply{Seq: at.has[0], Micros: uint64(p.r.IntN(5000)), Results: 1}
	at.has = at.has[1:]
	if raises {
		x.Flags = wire.ReplyAppError
	}
	result := append(frame.AppendInlineResult(nil, 1), 7)
	if p.large && !raises && p.r.IntN(3) > 0 {
		result = frame.AppendStoredResult(nil, 1+uint64(p.r.IntN(3)))
	}
	return frame.AppendReply(nil, x, frame.AppendCount(result, 0))
}

// giveBack has a worker give back what waits behind its first call.
func (p *playing) giveBack() {
	l := p.open()
	if l == nil || len(l.pipe.has) < 2 {
		return
	}
	back := l.pipe.has[1:]
	l.pipe.has = l.pipe.has[:1]
	b, at := frame.BeginReturned(nil, len(back))
	for _, seq := range back {
		b = frame.AppendSeq(b, seq)
	}
	p.says(l, frame.End(b, at))
}

// blocked has a worker's task wait for an object, or go on.
func (p *playing) blocked() {
	if l := p.open(); l != nil && len(l.pipe.has) > 0 {
		p.says(l, frame.AppendBlocked(nil, p.r.IntN(2) == 0))
	}
}

// lose ends a worker: its socket breaks, and the daemon says how it ended, in any order.
func (p *playing) lose() {
	l := p.open()
	switch {
	case l == nil:
		return
	case l.of != p.own:
		p.loseThere(l)
		return
	}
	l.pipe.has, l.pipe.ended = nil, true
	told := func() { p.s.LeaseBroken(&wire.LeaseBroken{LeaseID: l.id, Detail: "it was shot"}) }
	if p.r.IntN(2) == 0 {
		told()
		l.on.Gone(errors.New("it is gone"))
		return
	}
	l.on.Gone(errors.New("it is gone"))
	if p.r.IntN(2) == 0 {
		told()
	}
}

// ring fires a timer.
func (p *playing) ring() {
	p.timers = slices.DeleteFunc(p.timers, func(x *playedTimer) bool {
		return !x.on && p.r.IntN(2) == 0 && x != p.s.IdleTimer && x != p.s.pendingTimer
	})
	for _, i := range p.r.Perm(len(p.timers)) {
		if x := p.timers[i]; x.on {
			x.on = false
			x.f()
			return
		}
	}
}

// cancel cancels a task.
func (p *playing) cancel() {
	if len(p.tasks) > 0 {
		x := p.tasks[p.r.IntN(len(p.tasks))]
		p.s.CancelTask(x.t, false, false, false)
	}
}

// urge has the daemon ask for a lease.
func (p *playing) urge() {
	if l := p.open(); l != nil {
		if p.r.IntN(2) == 0 {
			p.s.LeaseRecalled(l.id)
		} else {
			p.s.LeaseWanted(l.id)
		}
	}
}

// check says what is wrong with the submitter's state.
func (p *playing) check() error {
	s := p.s
	places := map[*Task]int{}
	for id, k := range s.Classes {
		k.Queue.Each(func(t *Task) { places[t]++ })
		if p.own.quiet() && k.Want != p.own.wants[id] {
			return fmt.Errorf("class %d wants %d leases, and the daemon counts %d", id, k.Want, p.own.wants[id])
		}
		if n := k.WantAt(p.other.node); p.other.quiet() && n != p.other.wants[id] {
			return fmt.Errorf("class %d wants %d leases of the other node, whose daemon counts %d", id, n, p.other.wants[id])
		}
	}
	sent, far := 0, 0
	for id, l := range s.Leases {
		for _, t := range l.Lost {
			places[t]++
		}
		if l.Channel == nil || l.Gone {
			continue
		}
		if n := l.Channel.sent.Len(); n != l.Busy {
			return fmt.Errorf("lease %d has %d calls and counts %d", id, n, l.Busy)
		}
		if near := nearOf(s, l.Class); l.Busy == 0 && near != 0 && leases.NodeOf(id) != near {
			return fmt.Errorf("lease %d of node %d has nothing to do and is kept, for tasks with large arguments on node %d", id, leases.NodeOf(id), near)
		}
		if l.Busy == 0 && l.Recall {
			return fmt.Errorf("lease %d, for which others wait, has nothing to do and is kept", id)
		}
		for t := range l.Channel.sent.All() {
			places[t]++
			sent++
			if l.Node != 0 {
				far++
			}
			if t.on != l.Channel {
				return fmt.Errorf("a task that lease %d has is elsewhere, too", id)
			}
		}
	}
	for t := range s.Delayed {
		places[t]++
	}
	open := 0
	for i, x := range p.tasks {
		n := places[x.t]
		if x.t.counted {
			open++
			if x.t.Waiting > 0 {
				n++
			}
			if n != 1 {
				return fmt.Errorf("task %d is in %d places", i, n)
			}
			if x.results[0].State().Ready() {
				return fmt.Errorf("task %d has its result, and counts as open", i)
			}
		} else if n != 0 || !x.results[0].State().Ready() {
			return fmt.Errorf("task %d has ended: it is in %d places, its result is in state %v", i, n, x.results[0].State())
		}
		if x.most >= 0 && x.runs > x.most+1 {
			return fmt.Errorf("task %d ran %d times, and may run %d times", i, x.runs, x.most+1)
		}
		if f := x.results[0].Fault(); p.known && x.takes == 0 && f != nil && f.Code == fault.WorkerCrashed && x.runs != x.most+1 {
			return fmt.Errorf("task %d failed with its worker after %d runs, and may run %d times", i, x.runs, x.most+1)
		}
	}
	if far != s.sentFar {
		return fmt.Errorf("%d calls are at other nodes; it counts %d", far, s.sentFar)
	}
	if open != s.Open || sent != s.Sent || s.Unqueued != 0 {
		return fmt.Errorf("%d tasks are open and %d sent; it counts %d, %d and %d between", open, sent, s.Open, s.Sent, s.Unqueued)
	}
	for id, l := range p.held {
		if s.Leases[id] == nil {
			return fmt.Errorf("lease %d of class %d is neither kept nor given back", id, l.class)
		}
	}
	return nil
}

// nearOf is the node where the large arguments of a class's tasks lie, 0 if they have none.
func nearOf(s *Submitter, k *Class) uint32 {
	for _, tm := range s.AllTemplates() {
		if tm.Class == k {
			return tm.Near
		}
	}
	return 0
}

// severalNodes lets the process be on node 1 of a cluster of several nodes, with tasks whose results are large.
func (p *playing) severalNodes() {
	p.large = true
	me := Member{Self: ids.DaemonOn(1), Job: ids.JobOf(1), Addr: "/own", Totals: wire.Totals{CanGrow: true}}
	p.s.Join(me, refs.NewTable(me.Self, me.Job, me.Addr, (*quietTable)(p.quiet)))
}

// Whatever comes in whatever order, each task is in one place until it ends, runs no more often than
// it may, and ends once; each lease is kept or given back; and at the end nothing is wanted, of no node.
func TestSubmitter_RandomEvents_NoTaskIsLostAndNoneRunsTooOften(t *testing.T) {
	seeds, steps := 60, 400
	if testing.Short() {
		seeds = 10
	}
	for seed := range uint64(seeds) {
		p := newPlaying(t, seed)
		p.known = seed%3 < 2
		if seed%2 == 1 {
			p.severalNodes()
		}
		events := []func(){
			p.submit, p.submit, p.grant, p.grant, p.connect, p.connect, func() { p.answer(false) }, func() { p.answer(false) },
			func() { p.answer(true) }, p.giveBack, p.blocked, p.lose, p.ring, p.cancel, p.urge, p.deliver, p.deliver, p.deliver,
		}
		if seed%3 > 0 {
			events = append(events, p.offer, p.offer, p.grantThere, p.grantThere, p.refuse, p.deliver, p.deliver, p.deliver)
		}
		if seed%3 == 2 {
			events = append(events, p.loseHome)
		}
		for step := range steps {
			i := p.r.IntN(len(events))
			events[i]()
			if err := p.check(); err != nil {
				t.Fatalf("seed %d, step %d, event %d: %v", seed, step, i, err)
			}
		}
		p.finish(100 * steps)
		for i, tm := range p.tmpls { // a class that counts a lease too many or too few asks for another number
			if tm.Class == nil {
				continue
			}
			p.submitOf(tm, 0)
			if n := tm.Class.Want; n != 1 {
				t.Fatalf("seed %d: the only task of class %d wants %d leases", seed, i, n)
			}
		}
		p.finish(100 * steps)
	}
}

// finish plays a world in which all goes well until every task has ended and every lease is back.
func (p *playing) finish(most int) {
	for n := 0; p.s.Open > 0; n++ {
		if n > most {
			p.fail("%d tasks do not end", p.s.Open)
		}
		p.grant()
		p.grantThere()
		p.deliver()
		p.connect()
		p.answer(false)
		p.ring()
		if err := p.check(); err != nil {
			p.fail("at the end: %v", err)
		}
	}
	if p.s.Sent != 0 {
		p.fail("%d calls have no answer", p.s.Sent)
	}
	for !p.own.quiet() || !p.other.quiet() || len(p.pipes) > 0 || len(p.dialled) > 0 {
		p.deliver()
		p.connect()
	}
	for _, l := range p.s.Leases { // time passes
		l.IdleAt = l.IdleAt.Add(-time.Hour)
	}
	if p.s.ReturnIdle(); len(p.held) > 0 {
		p.fail("%d leases are kept that have had nothing to do for long", len(p.held))
	}
	for !p.own.quiet() || !p.other.quiet() {
		p.deliver()
	}
	for _, h := range []*playedHome{p.own, p.other} {
		for class, n := range h.wants {
			if n != 0 {
				p.fail("node %d: %d leases of class %d are wanted, and no task is left", h.node, n, class)
			}
		}
	}
}
