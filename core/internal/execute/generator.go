package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

const (
	// FeedBacklog is how many bytes of a generator's items may wait for their caller to
	// read them. Beyond that the generator waits.
	FeedBacklog = 4 << 20
	// MaxItems is how many items a generator may yield: its caller has set aside
	// that many numbers for them.
	MaxItems = 1<<32 - 2
)

// FeedState says whether a generator may yield more.
type FeedState int

// The states of a generator, which say what it has to do.
const (
	FeedOpen      FeedState = iota
	FeedFull                // wait until there is room
	FeedClosed              // close itself
	FeedCancelled           // raise
)

// feed makes a call the call of a generator. r is at the generator's state.
func (c *Caller) feed(k *Call, r *wire.Reader) error {
	x, err := frame.ReadResume(r)
	if err != nil {
		return err
	}
	k.feed = &feed{flow: &k.Tmpl.Flow, have: x.Have, taken: x.Taken, quit: x.Quit, lost: x.Lost, at: -1}
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

// wakeFeed wakes a waiting generator, which checks whether it may go on.
func (w *Worker) wakeFeed(f *feed) {
	if room := f.room; room != nil {
		f.room = nil
		w.do.Wake(room)
	}
}

// wakeFeeds wakes all waiting generators, which check whether they may go on.
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

// listFeed puts a generator that begins to run on the list of running generators.
func (w *Worker) listFeed(k *Call) {
	k.feed.at = len(w.feeding)
	w.feeding = append(w.feeding, k)
}

// unfeed takes a call off the list of running generators, if it is there. The
// last one of the list takes its place, so the list is not searched.
func (w *Worker) unfeed(k *Call) {
	if k.feed == nil || k.feed.at < 0 {
		return
	}
	last := len(w.feeding) - 1
	moved := w.feeding[last]
	w.feeding[k.feed.at], moved.feed.at = moved, k.feed.at
	w.feeding[last] = nil
	w.feeding = w.feeding[:last]
	k.feed.at = -1
}

// Unwanted reports whether the call is a generator's and its caller wants no item. Such a
// call is answered without having run.
func (k *Call) Unwanted() bool { return k.feed != nil && k.feed.quit }

// Yields reports whether the call is a generator's.
func (k *Call) Yields() bool { return k.feed != nil }

// ahead returns how many items the caller has not taken.
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

// done reports whether the generator runs again and has yielded all lost items. Then it is
// stopped, because it may have no end. A list of the items needs all of them.
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

// raises returns the index of the item that becomes the exception which ends the generator.
// In a run for lost items that is the first lost item that the run has not made yet; wanted
// is false if there is none. A generator that was tried again may raise earlier than
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

// Raises returns the index of the item that becomes the exception with which a running generator ends now.
func (w *Worker) Raises(k *Call) uint64 {
	item, _ := k.feed.raises()
	return item
}

// feedsFull reports whether a generator has to wait because all generators together are too
// far ahead. Generators that are less far ahead go first, so that each has its turn.
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
	k := w.calls.get(token)
	if k == nil || k.feed == nil {
		return nil, fault.New(fault.BadRequest, "call %d is not a running generator", token)
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
// that its value lies in the store. Held is as in Send.
func (w *Worker) SendItem(k *Call, i uint64, flags int, body []byte, stored bool, held uint64) {
	c := k.Caller
	c.pipe.Queue(frame.AppendItem(c.pipe.Buffer(), frame.Item{Seq: k.seq, Index: i, Flags: uint64(flags) | heldFlag(held), Held: held}, body))
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

// AwaitRoom arranges that the wait ends when the generator may check again.
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

// UnawaitRoom removes the generator's wait, which was given up.
func (w *Worker) UnawaitRoom(k *Call) { k.feed.room = nil }
