package execute

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

const (
	// FeedBacklog is how much of a generator's items may wait for their caller to
	// read; then the generator waits. Bytes.
	FeedBacklog = 4 << 20
	// MaxItems is how many items a generator may yield: its caller has set aside
	// that many numbers for them.
	MaxItems = 1<<32 - 2
)

// feed is the worker's end of a generator that it runs. Its caller has the other end.
type feed struct {
	flow   *frame.Flow
	next   uint64     // index of the next item
	have   uint64     // its caller has those before
	taken  uint64     // of them, by the caller's program
	quit   bool       // nobody wants more
	stored bool       // the item before lies in the store
	lost   []uint64   // of what its caller had, what it is to get again
	queued bool       // it waits for the others, or did when it last looked
	room   *wait.Wait // of the generator, which waits until it may go on
}

// FeedState says whether a generator may yield more.
type FeedState int

// What a generator is to do.
const (
	FeedOpen      FeedState = iota
	FeedFull                // wait until there is room
	FeedClosed              // close itself
	FeedCancelled           // raise
)

// feed makes a call that of a generator; r is at its state.
func (c *Caller) feed(k *Call, r *wire.Reader) error {
	x, err := frame.ReadResume(r)
	if err != nil {
		return err
	}
	k.feed = &feed{flow: &k.Tmpl.Flow, have: x.Have, taken: x.Taken, quit: x.Quit, lost: x.Lost}
	k.again = len(x.Lost) > 0
	if c.feeds == nil {
		c.feeds = map[uint32]*Call{}
	}
	c.feeds[k.seq] = k
	return nil
}

// taken says that the caller's program has taken n items in all.
func (c *Caller) taken(seq uint32, n uint64) {
	if k := c.feeds[seq]; k != nil {
		k.feed.taken = max(k.feed.taken, n)
		if c.w.feedMax > 0 {
			c.w.wakeFeeds()
		} else {
			c.w.wakeFeed(k.feed)
		}
	}
}

// quit says that the caller wants no more items.
func (c *Caller) quit(seq uint32) {
	if k := c.feeds[seq]; k != nil {
		k.feed.quit = true
		c.w.wakeFeed(k.feed)
	}
}

// wakeFeed lets a generator look whether it may go on.
func (w *Worker) wakeFeed(f *feed) {
	if room := f.room; room != nil {
		f.room = nil
		w.do.Wake(room)
	}
}

// wakeFeeds lets all generators look whether they may go on.
func (w *Worker) wakeFeeds() {
	for _, k := range w.feeding {
		w.wakeFeed(k.feed)
	}
}

// endFeed says that a generator has ended.
func (w *Worker) endFeed(k *Call) {
	w.unfeed(k)
	delete(k.Caller.feeds, k.seq)
	w.wakeFeed(k.feed)
	if w.feedMax > 0 {
		w.wakeFeeds()
	}
}

// unfeed takes a call off the list of running generators, if it is there.
func (w *Worker) unfeed(k *Call) {
	if k.feed != nil {
		w.feeding = slices.DeleteFunc(w.feeding, func(x *Call) bool { return x == k })
	}
}

// Unwanted reports whether the call is a generator's of which its caller wants
// nothing: it is answered without having run.
func (k *Call) Unwanted() bool { return k.feed != nil && k.feed.quit }

// Yields reports whether the call is a generator's.
func (k *Call) Yields() bool { return k.feed != nil }

// ahead is how many items its caller has not taken.
func (f *feed) ahead() uint64 {
	if f.next < f.taken {
		return 0
	}
	return f.next - f.taken
}

// FeedState says what a running generator is to do next.
func (w *Worker) FeedState(k *Call) FeedState {
	f, p := k.feed, k.Caller.pipe
	switch {
	case k.cancel:
		return FeedCancelled
	case f.quit || p.Closed() || w.closed || f.done():
		return FeedClosed
	}
	full := f.flow.Limit > 0 && f.ahead() >= f.flow.Limit || p.Unsent() > FeedBacklog || f.stored && p.Unsent() > 0
	f.queued = !full && w.feedMax > 0 && w.feedsFull(f)
	if full || f.queued {
		return FeedFull
	}
	return FeedOpen
}

// done reports whether the generator runs again and has yielded all that was
// lost: it may have no end. A list of the items needs them all.
func (f *feed) done() bool {
	return f.have == frame.All && len(f.lost) == 0 && f.flow.Mode == frame.FlowStream
}

// wanted reports whether its caller needs item i.
func (f *feed) wanted(i uint64) bool {
	for len(f.lost) > 0 && f.lost[0] < i {
		f.lost = f.lost[1:]
	}
	if len(f.lost) > 0 && f.lost[0] == i {
		f.lost = f.lost[1:]
		return true
	}
	return i >= f.have
}

// raises returns which item the exception becomes that ends the generator. A run
// for lost items ends the first one that it has not made yet with it; wanted is
// false if there is none. A generator that was tried again may raise earlier than
// before: its caller keeps the items that it has, and the exception follows them.
func (f *feed) raises() (item uint64, wanted bool) {
	if f.have != frame.All {
		return max(f.next, f.have), true
	}
	for _, i := range f.lost {
		if i >= f.next {
			return i, true
		}
	}
	return f.next, false
}

// Raises returns which item the exception becomes with which a running generator ends now.
func (w *Worker) Raises(k *Call) uint64 {
	item, _ := k.feed.raises()
	return item
}

// feedsFull reports whether a generator is to wait because all together are too
// far ahead. Those that are less far ahead go first, so that each has its turn.
func (w *Worker) feedsFull(f *feed) bool {
	n := uint64(0)
	for _, k := range w.feeding {
		o := k.feed
		n += o.ahead()
		if o != f && o.queued && o.ahead() < f.ahead() {
			n++
		}
	}
	return n >= w.feedMax
}

// LimitFeeds bounds how many items this actor's generators may be ahead of their
// callers, together.
func (w *Worker) LimitFeeds(n uint64) { w.feedMax = n }

// Generator returns the running generator of a token.
func (w *Worker) Generator(token uint64) (*Call, error) {
	k := w.calls[token]
	if k == nil || k.feed == nil {
		return nil, fault.New(fault.BadRequest, "call %d is no generator that runs", token)
	}
	return k, nil
}

// Yield is an item that a generator has yielded.
type Yield struct {
	Index  uint64
	Wanted bool     // its caller gets it
	lost   []uint64 // of the feed, before the item
}

// Yield counts an item. Its caller gets it by SendItem, if it is wanted.
func (w *Worker) Yield(k *Call) (y Yield, err error) {
	f := k.feed
	if f.next >= MaxItems {
		return y, fault.New(fault.BadRequest, "the generator %s has yielded %d items, which is the most that one may", k.Tmpl.Name, f.next)
	}
	y = Yield{Index: f.next, lost: f.lost}
	f.next++
	y.Wanted = f.wanted(y.Index) && !f.quit && !k.Caller.pipe.Closed()
	return y, nil
}

// Unyield says that a wanted item could not be made: the exception of the
// generator becomes this item.
func (w *Worker) Unyield(k *Call, y Yield) { k.feed.next, k.feed.lost = y.Index, y.lost }

// SendItem sends the item with the index i, which the body holds; stored says
// that its value lies in the store.
func (w *Worker) SendItem(k *Call, i uint64, flags int, body []byte, stored bool) {
	c := k.Caller
	c.pipe.Queue(frame.AppendItem(c.pipe.Buffer(), frame.Item{Seq: k.seq, Index: i, Flags: uint64(flags)}, body))
	// The first leaves at once. Those that follow soon share a write, and a millisecond later it is made.
	// Of what lies in the store its caller has to hear before this worker can die.
	k.feed.stored = stored
	if now := time.Now(); stored || c.pipe.Unsent() >= shareBytes || now.Sub(c.flushed) > shareFor {
		c.pipe.Flush()
		c.flushed = now
	} else {
		c.pipe.SendSoon()
	}
}

// AwaitRoom has the wait ended when the generator may look again.
func (w *Worker) AwaitRoom(k *Call, x *wait.Wait) {
	p := k.Caller.pipe
	k.feed.room = x
	p.Flush()
	if p.Unsent() > 0 {
		p.WhenSent(w.wakeFeeds)
	}
	if p.Unsent() == 0 && w.FeedState(k) != FeedFull {
		w.wakeFeed(k.feed)
	}
}

// UnawaitRoom takes the generator's wait back, which was given up.
func (w *Worker) UnawaitRoom(k *Call) { k.feed.room = nil }
