package client

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// The caller's end of generators. A generator's items come one by one while it runs,
// and each is an object of the caller. The generator's own object (completed() in
// Python) has index 1 and the count t.first. Item i has index i+2 and the count
// t.first+1+i, so the worker knows the item's id before it writes a large item to the
// arena. For this a generator sets streamCounts counts aside. feed.go is the other end.

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
	gen   uint64 // the count of its own object
	task  *task  // nil: it has ended
	got   uint64 // how many items have come, in all attempts
	taken uint64 // how many of them the program has been given
	told  bool   // the program has been given what ended the generator
	left  bool   // the program reads no more of it, so items that come are not kept
	goOn  bool   // it runs to its end all the same
	quit  bool   // it is to be closed, because nobody waits for its end either
	again bool   // this is a second run, for items that were lost
	tries int32  // the retries of all runs together, counted in the first run's stream only

	first *stream // of a second run: the stream of the first run, which may still yield; nil: that ended in another process
}

// came is how many items have come. In a run for lost items those count, too, that
// the first run has yielded since, because the run that ends last can make all of them anew.
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

// item reads what a generator yielded.
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

// failsAs gives a generator's own object the exception that is its item i; mu held.
func (c *submitter) failsAs(t *task, i uint64) {
	x, o := c.table.FindOwned(t.first+1+i), c.table.FindOwned(t.first)
	if x != nil && o != nil && x.IsError() && t.makes(o) { // the first run may still end well
		c.table.FailAs(o, x)
		t.stream.told = true // by the item
	}
}

// streamEnded notes that a run of a generator has ended, so no more of its items come; mu held.
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

// dropItems lets go of the items that the program has not taken. Items that come later are not kept; mu held.
func (c *submitter) dropItems(s *stream) {
	s.left = true
	for i := s.taken; i <= s.got; i++ {
		if o := c.table.FindOwned(s.gen + 1 + i); o != nil && (i < s.got || s.task != nil) {
			c.table.Unpin(o)
		}
	}
}

// unwanted notes that nobody has a reference to the generator's own object any more; mu held.
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
