package client

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// A generator's items come one by one while it runs, each an object of ours.
// The generator's own object (completed() in Python) has index 1 and the count
// t.first; that of item i has index i+2 and the count t.first+1+i, so the
// worker knows it before it writes a large item to the arena. For this a
// generator sets streamCounts counts aside. feed.go is the other end.

// streamCounts bounds how many items a generator can have.
const streamCounts = 1 << 32

// DropStream as Drop.View: the program reads the generator of that object no more.
const DropStream = refs.DropStream

// Modes of a Flow.
const (
	FlowStream  = frame.FlowStream
	FlowDynamic = frame.FlowDynamic
)

// Flow says how the results of a generator travel. Mode 0: it is none.
type Flow = frame.Flow

// generatorReturns is what Item.Returns says of a generator: negative, odd for FlowStream.
func generatorReturns(f Flow) int { return -(2*(max(1, f.Each)-1) + f.Mode) }

// untold is how many items a worker may have stored at most that its caller does not know.
const untold = 2

// stream is the caller's end of a generator.
type stream struct {
	gen   uint64 // count of its own object
	task  *task  // nil: it has ended
	got   uint64 // items that have come, in all attempts
	taken uint64 // of them, given to the program
	told  bool   // the program has been given what ended it
	left  bool   // the program reads no more: what comes is not kept
	goOn  bool   // although it is left
	quit  bool   // it is to be closed: nobody waits for its end either
	again bool   // it runs again, for items that were lost
	tries int32  // of all runs together: only the first run's stream counts them

	first *stream // of one that runs again: the stream of the first run, which may still yield; nil: it ended in another process
}

// came is how many items have come. Of a run for lost items those count that the
// first run has yielded since: whichever run ends last can make all of them anew.
func (s *stream) came() uint64 {
	if s.first != nil {
		return max(s.got, s.first.got)
	}
	return s.got
}

// root is the stream of the first run.
func (s *stream) root() *stream {
	if s.first != nil {
		return s.first
	}
	return s
}

// newStream makes the task a generator; mu held.
func (c *submitter) newStream(t *task) {
	s := &stream{gen: t.first, task: t}
	t.stream = s
	c.table.Reserve(streamCounts)
	if t.tmpl.Flow.Mode == FlowStream {
		c.streams[s.gen] = s
		c.yields(t)
	}
}

// place returns the object of an item that the program was not given yet, and holds it.
func (c *submitter) place(s *stream, i uint64) *refs.Object {
	if o := c.table.FindOwned(s.gen + 1 + i); o != nil {
		return o
	}
	o := c.table.Place(s.gen+1+i, uint32(i+2))
	c.table.Pin(o)
	if s.task != nil {
		o.SetSource(s.task)
	}
	if gen := c.table.FindOwned(s.gen); gen != nil {
		o.SetOrigin(gen.Site(), gen.Maker())
	}
	return o
}

func (c *submitter) itemID(s *stream, i uint64) ids.Object {
	return ids.NewObject(s.gen+1+i, c.self, c.info.Job, uint32(i+2))
}

// head returns the object that the next item to come will be, if somebody waits for it.
func (c *submitter) head(s *stream) *refs.Object { return c.table.FindOwned(s.gen + 1 + s.got) }

// streamAgain makes t, which is to compute lost results of a generator, a run of
// it after another one, which may go on; mu held. Those results are Pending, and t produces them.
func (c *submitter) streamAgain(t, before *task) {
	t.stream = &stream{gen: t.first, task: t, got: before.stream.came(), left: true, again: true, first: before.stream.root()}
}

// eachLost calls f with the items that a second run is to make anew.
func (c *submitter) eachLost(t *task, f func(i uint64, o *refs.Object)) {
	for i := range t.stream.came() {
		if o := c.table.FindOwned(t.first + 1 + i); o != nil && !o.State().Ready() && o.Source() == t {
			f(i, o)
		}
	}
}

// makesItems reports whether a second run has items to make.
func (c *submitter) makesItems(t *task) (any bool) {
	c.eachLost(t, func(uint64, *refs.Object) { any = true })
	return any
}

// eachItem calls f with the items that have come and that somebody still holds.
func (c *submitter) eachItem(t *task, f func(o *refs.Object)) {
	for i := range t.stream.came() {
		if o := c.table.FindOwned(t.first + 1 + i); o != nil {
			f(o)
		}
	}
}

// appendResume encodes with what a call of the generator goes on.
func (c *submitter) appendResume(b []byte, t *task) []byte {
	s := t.stream
	x := frame.Resume{Have: s.got, Taken: s.taken, Quit: s.quit}
	if s.left {
		x.Taken = frame.All
	}
	if s.again {
		x.Have = frame.All
		c.eachLost(t, func(i uint64, _ *refs.Object) { x.Lost = append(x.Lost, i) })
	}
	return frame.AppendResume(b, &x)
}

// item is what a generator yielded.
func (o *outConn) item(r *wire.Reader) error {
	x, err := frame.ReadItem(r)
	if err != nil {
		return err
	}
	t, i := o.sent.get(x.Seq), x.Index
	if t == nil || t.stream == nil {
		return fmt.Errorf("%w: item of call %d, which is no generator", wire.ErrBadFrame, x.Seq)
	}
	if s := t.stream; i != s.got && !(s.again && i < s.got) {
		return fmt.Errorf("%w: item %d of a generator after %d", wire.ErrBadFrame, i, s.got)
	}
	had, err := o.comes(t, i, r, x.Flags&wire.ReplyAppError != 0)
	if had {
		at := o.c.itemID(t.stream, i)
		var id ids.Task
		copy(id[:], at[:])
		o.c.table.ReceiptWhenRegistered(o.peerAddr, id)
	}
	return err
}

// comes reads item i of the generator, and reports whether there are references inside.
func (o *outConn) comes(t *task, i uint64, r *wire.Reader, isErr bool) (inner bool, err error) {
	c, s := o.c, t.stream
	if !s.left {
		c.place(s, i)
	}
	inner, err = c.result(r, t, int(i)+1, isErr)
	if err == nil && i == s.got && !s.again {
		s.got++
	}
	return inner, err
}

// lastOf reads a generator's answer. Of one that raised the exception comes as its last item.
func (o *outConn) lastOf(t *task, r *wire.Reader, x *frame.Reply) error {
	c, flags, want := o.c, x.Flags, 1
	last := flags&wire.ReplyLastItem != 0
	if last {
		want = 2
	}
	if x.Results != want {
		return fmt.Errorf("%w: %d results of a generator, want %d", wire.ErrBadFrame, x.Results, want)
	}
	inner := false
	if last {
		if s := t.stream; x.Item >= streamCounts-2 || x.Item != s.got && !s.again && !(s.left && x.Item > s.got) {
			return fmt.Errorf("%w: an exception as item %d of a generator after %d", wire.ErrBadFrame, x.Item, s.got)
		}
		var err error
		if inner, err = o.raises(t, x.Item, r); err != nil {
			return err
		}
		if t.tmpl.RetryErrs && flags&wire.ReplyNoRetry == 0 { // it would have been tried again: then all of it has failed
			c.failsAs(t, x.Item)
		}
	}
	had, err := c.result(r, t, 0, flags&wire.ReplyAppError != 0 && !last)
	if err != nil {
		return err
	}
	if had || inner { // held under the task's id: they came in one answer
		c.table.ReceiptWhenRegistered(o.peerAddr, t.id(c))
	}
	c.endTask(t)
	o.exitIf(flags)
	return r.Err()
}

// raises reads the exception that a generator ends with, which is its item i. A run for lost items gives it to
// all that it has not made. The worker chose the first of these for it, and wrote it to the store under
// that item's id if it is large. The program may have let go of that item since: then the item's object comes
// back, and the others keep it alive for as long as they need its exception.
func (o *outConn) raises(t *task, i uint64, r *wire.Reader) (inner bool, err error) {
	c, s := o.c, t.stream
	if !s.again {
		return o.comes(t, i, r, true)
	}
	if c.table.FindOwned(s.gen+1+i) == nil && c.makesItems(t) {
		x := c.place(s, i)
		defer func() {
			c.table.Unpin(x)
			c.table.CarryOut()
		}()
	}
	if inner, err = o.comes(t, i, r, true); err == nil {
		c.lostFail(t, i)
	}
	return inner, err
}

// failsAs gives a generator's own object the exception that is its item i; mu held.
func (c *submitter) failsAs(t *task, i uint64) {
	x, o := c.table.FindOwned(t.first+1+i), c.table.FindOwned(t.first)
	if x != nil && o != nil && x.IsError() && t.makes(o) { // the first run may still end well
		c.table.FailAs(o, x)
		t.stream.told = true // by the item
	}
}

// lostFail ends the items that a second run was to make, and has not, with the exception that it raised: its item i; mu held.
func (c *submitter) lostFail(t *task, i uint64) {
	if x := c.table.FindOwned(t.first + 1 + i); x != nil && x.IsError() && x.State().Ready() {
		c.eachLost(t, func(_ uint64, o *refs.Object) { c.table.FailAs(o, x) })
	}
}

// streamEnded: no more items will come; mu held.
func (c *submitter) streamEnded(t *task) {
	s := t.stream
	s.task = nil
	if c.yielding[s.gen] == t {
		delete(c.yielding, s.gen)
	}
	if s.again {
		f := fault.New(fault.StreamInconsistent, "the generator %s ran again, for items that were lost, and yielded fewer than before: what it yields must not change", t.tmpl.Name)
		c.eachLost(t, func(_ uint64, o *refs.Object) { c.table.Fail(o, f) })
	}
	if o := c.head(s); o != nil && !s.again {
		c.table.Fail(o, fault.New(fault.EndOfStream, "the generator %s has no more items", t.tmpl.Name))
		if !s.left {
			c.table.Unpin(o)
		}
	}
	if (t.tries > 0 || t.failed) && !s.again { // a worker that died may have stored items that it could not tell of
		var list [][]byte
		for i := range uint64(untold) {
			list = append(list, raw(c.itemID(s, s.got+i)))
		}
		c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: list})
	}
	if t.tmpl.Flow.Mode == FlowDynamic && !s.left { // its own object holds them from now on
		c.dropItems(s)
	}
	c.table.CarryOut()
}

// dropItems lets go of the items that the program has not taken; none that come are kept; mu held.
func (c *submitter) dropItems(s *stream) {
	s.left = true
	for i := s.taken; i <= s.got; i++ {
		if o := c.table.FindOwned(s.gen + 1 + i); o != nil && (i < s.got || s.task != nil) {
			c.table.Unpin(o)
		}
	}
}

// leaveStream: the program reads the generator no more; mu held. If it never
// got anything it wanted what the generator does, not what it yields: then that goes on.
func (c *submitter) leaveStream(id ids.Object) {
	s := c.streams[id.Count()]
	if s == nil {
		return
	}
	delete(c.streams, s.gen)
	s.goOn = s.got == 0
	c.dropItems(s)
	if s.task != nil {
		c.tellTaken(s, true)
	}
}

// unwanted: nobody has a reference to the generator itself any more; mu held.
func (c *submitter) unwanted(t *task, o *refs.Object) {
	s := t.stream
	if o.ID.Count() != s.gen || s.task == nil {
		return
	}
	if !s.left {
		c.dropItems(s)
	}
	if t.tmpl.Flow.Mode == FlowDynamic || s.goOn {
		return
	}
	s.quit = true
	if t.on != nil {
		t.on.Queue(frame.AppendQuit(t.on.Buffer(), t.seq))
		t.on.Flush()
	}
}

// tellTaken tells a worker that counts it what the program has taken.
func (c *submitter) tellTaken(s *stream, now bool) {
	t := s.task
	f := &t.tmpl.Flow
	if t.on == nil || f.Limit == 0 && !f.Counted {
		return
	}
	n := s.taken
	if s.left {
		n = frame.All
	}
	o := t.on
	o.Queue(frame.AppendTaken(o.Buffer(), t.seq, n))
	// A worker that has all that it may send waits for this.
	if now || f.Counted || s.got-s.taken+1 >= f.Limit {
		o.Flush()
	}
	if o.Unsent() > 0 {
		o.SendSoon()
	}
}

// restoreStream gives an heir's task its generator. Only who called it reads
// items one by one, and that program has ended; a list of them may still be wanted.
func (c *Client) restoreStream(t *task, x *willTask) {
	s := &stream{gen: t.first, task: t, got: x.Items, left: true, goOn: x.GoOn}
	t.stream = s
	if s.again = x.Again; s.again {
		for _, i := range x.Makes { // several runs may go on at once, each for other items
			if o := c.table.FindOwned(t.first + i); o != nil && o.State() == refs.Pending && !slices.Contains(c.table.Unverified(), o) {
				o.SetSource(t)
			}
		}
		return
	}
	gen := c.table.FindOwned(s.gen)
	if t.tmpl.Flow.Mode == FlowStream {
		c.yields(t)
	}
	if t.tmpl.Flow.Mode == FlowStream || gen == nil {
		s.quit = gen == nil && !s.goOn && t.tmpl.Flow.Mode == FlowStream
		return
	}
	s.left = false
	for i := range s.got {
		if o := c.table.FindOwned(s.gen + 1 + i); o != nil {
			c.table.Pin(o)
		}
	}
}
