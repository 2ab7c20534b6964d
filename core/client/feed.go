package client

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// feedBacklog is how much of a generator's items may wait for their caller to
// read; then the generator waits.
const feedBacklog = 4 << 20

// feed is the worker's end of a generator that it runs; stream.go is the other.
type feed struct {
	flow   *Flow
	next   uint64     // index of the next item
	have   uint64     // its caller has those before
	taken  uint64     // of them, by the caller's program
	quit   bool       // nobody wants more
	stored bool       // the item before lies in the store
	lost   []uint64   // of what it had, what it is to get again
	queued bool       // it waits for the others, or did when it last looked
	room   *wait.Wait // the generator, waiting until it may go on
}

// FeedState says whether a generator may yield more.
type FeedState int

// What a generator is to do.
const (
	FeedOpen      FeedState = iota
	FeedFull                // wait: FeedRoom
	FeedClosed              // close it
	FeedCancelled           // raise
)

// feed makes a call that of a generator; r is at its state.
func (in *inConn) feed(k *call, r *wire.Reader) error {
	x, err := frame.ReadResume(r)
	if err != nil {
		return err
	}
	k.feed = &feed{flow: &k.tmpl.Flow, have: x.Have, taken: x.Taken, quit: x.Quit, lost: x.Lost}
	k.again = len(x.Lost) > 0
	if in.feeds == nil {
		in.feeds = map[uint32]*call{}
	}
	in.feeds[k.seq] = k
	return nil
}

// taken: the caller's program has taken n items in all.
func (in *inConn) taken(seq uint32, n uint64) {
	if k := in.feeds[seq]; k != nil {
		k.feed.taken = max(k.feed.taken, n)
		if in.c.exec.feedMax > 0 {
			in.c.exec.wakeFeeds()
		} else {
			k.feed.wake(in.c)
		}
	}
}

func (in *inConn) quit(seq uint32) {
	if k := in.feeds[seq]; k != nil {
		k.feed.quit = true
		k.feed.wake(in.c)
	}
}

func (f *feed) wake(c *Client) {
	if w := f.room; w != nil {
		f.room = nil
		c.poller.Finish(w)
	}
}

// wakeFeeds lets all generators look whether they may go on; mu held.
func (e *executor) wakeFeeds() {
	for _, k := range e.calls {
		if k.feed != nil {
			k.feed.wake(e.c)
		}
	}
}

func (e *executor) endFeed(k *call) {
	delete(k.in.feeds, k.seq)
	k.feed.wake(e.c)
	if e.feedMax > 0 {
		e.wakeFeeds()
	}
}

// ahead is how many items its caller has not taken.
func (f *feed) ahead() uint64 {
	if f.next < f.taken {
		return 0
	}
	return f.next - f.taken
}

func (e *executor) feedState(k *call) FeedState {
	f := k.feed
	switch {
	case k.cancel:
		return FeedCancelled
	case f.quit || k.in.Closed() || e.c.closed || f.done():
		return FeedClosed
	}
	full := f.flow.Limit > 0 && f.ahead() >= f.flow.Limit || k.in.Unsent() > feedBacklog || f.stored && k.in.Unsent() > 0
	f.queued = !full && e.feedMax > 0 && e.feedsFull(f)
	if full || f.queued {
		return FeedFull
	}
	return FeedOpen
}

// done reports whether the generator runs again and has yielded all that was
// lost: it may have no end. A list of the items needs them all.
func (f *feed) done() bool {
	return f.have == frame.All && len(f.lost) == 0 && f.flow.Mode == FlowStream
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

// raises returns which item the exception becomes that ends the generator. A run for lost items ends the first
// one that it has not made yet with it; wanted is false if there is none. A generator that was tried
// again may raise earlier than before: its caller keeps the items that it has, and the exception follows them.
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

// feedsFull reports whether a generator is to wait because all together are too
// far ahead. Those that are less far ahead go first, so that each has its turn.
func (e *executor) feedsFull(f *feed) bool {
	n := uint64(0)
	for _, k := range e.calls {
		if o := k.feed; o != nil {
			n += o.ahead()
			if o != f && o.queued && o.ahead() < f.ahead() {
				n++
			}
		}
	}
	return n >= e.feedMax
}

// LimitFeeds bounds how many items this actor's generators may be ahead of their callers, together.
func (c *Client) LimitFeeds(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exec.feedMax = n
}

func (e *executor) feeder(token uint64) (*call, error) {
	k := e.calls[token]
	if k == nil || k.feed == nil {
		return nil, fault.New(fault.BadRequest, "call %d is no generator that runs", token)
	}
	return k, nil
}

// FeedItem sends what a generator has yielded.
func (c *Client) FeedItem(token uint64, v *Value, flags int) (FeedState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k, err := e.feeder(token)
	if err != nil {
		return 0, err
	}
	f := k.feed
	i := f.next
	if i >= streamCounts-2 {
		return 0, fault.New(fault.BadRequest, "the generator %s has yielded %d items, which is the most that one may", k.tmpl.Name, i)
	}
	lost := f.lost
	f.next++
	if f.wanted(i) && !f.quit && !k.in.Closed() && !planted.Strikes(planted.LostItem) {
		if err := e.sendItem(k, i, v, flags); err != nil {
			f.next, f.lost = i, lost // the exception of the generator becomes this item
			return 0, err
		}
	}
	return e.feedState(k), nil
}

// sendItem writes an item's frame; mu held, released while a large value goes to the arena.
func (e *executor) sendItem(k *call, i uint64, v *Value, flags int) error {
	c, in := e.c, k.in
	body, nested, err := e.appendResult(nil, nil, k, int(i)+1, v, true)
	if err != nil {
		return err
	}
	err = checkAnswer(k, body)
	if err != nil || in.Closed() { // the caller may have left while a large value went to the arena
		c.unpinAll(nested)
		c.carryOut()
		return err
	}
	if nested != nil {
		var at ids.Task
		id := k.returnID(int(i) + 1)
		copy(at[:], id[:ids.TaskSize])
		c.hold(in.caller, at, nested)
	}
	in.Queue(frame.AppendItem(in.Buffer(), frame.Item{Seq: k.seq, Index: i, Flags: uint64(flags)}, body))
	// The first leaves at once. Those that follow soon share a write, and a millisecond later it is made.
	// Of what lies in the store its caller has to hear before this worker can die.
	k.feed.stored = frame.IsStored(body)
	if now := time.Now(); k.feed.stored || in.Unsent() >= batchBytes || now.Sub(in.flushed) > batchFor {
		in.Flush()
		in.flushed = now
	} else {
		in.SendSoon()
	}
	return nil
}

// FeedRoom waits until a generator may go on. FeedFull: the timeout passed; negative waits for ever.
func (c *Client) FeedRoom(token uint64, timeout time.Duration) (FeedState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	deadline := deadlineOf(timeout)
	for {
		k, err := e.feeder(token)
		if err != nil {
			return 0, err
		}
		st := e.feedState(k)
		if st != FeedFull {
			return st, nil
		}
		w := wait.New()
		e.awaitRoom(k, w)
		c.awaitBlocked(w, deadline)
		if !w.Over() {
			k.feed.room = nil
			return e.feedState(k), nil
		}
	}
}

// FeedOwner returns the socket of the process that owns a generator's items.
func (c *Client) FeedOwner(token uint64) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, err := c.exec.feeder(token)
	if err != nil {
		return "", err
	}
	return k.in.addr, nil
}

// FeedRaises returns which item the exception becomes with which a generator ends now.
func (c *Client) FeedRaises(token uint64) (item uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, err := c.exec.feeder(token)
	if err != nil {
		return 0, err
	}
	item, _ = k.feed.raises()
	return item, nil
}

// FeedWatch returns at once. When it says FeedFull, AsyncDrain gives notify
// when it is worth to look again.
func (c *Client) FeedWatch(token, notify uint64) (FeedState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k, err := e.feeder(token)
	if err != nil {
		return 0, err
	}
	if st := e.feedState(k); st != FeedFull {
		return st, nil
	}
	e.awaitRoom(k, wait.Calling(func() {
		c.async.ended = append(c.async.ended, notify)
		one := [8]byte{1}
		_, _ = unix.Write(c.async.fd, one[:])
	}))
	c.poller.Arm()
	return FeedFull, nil
}

// awaitRoom finishes w when the generator may look again.
func (e *executor) awaitRoom(k *call, w *wait.Wait) {
	in := k.in
	k.feed.room = w
	in.Flush()
	if in.Unsent() > 0 {
		in.WhenSent(e.wakeFeeds)
	}
	if in.Unsent() == 0 && e.feedState(k) != FeedFull {
		k.feed.wake(e.c)
	}
}
