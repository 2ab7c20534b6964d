package execute

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// itemLimits are how many items the generators of the templates may be ahead of their caller; 0: no limit.
var itemLimits = []uint64{0, 1, 3}

// generatorTemplate is the number of a template of generators: of a group and a limit.
func generatorTemplate(group, limit int) uint64 { return uint64(100 + 10*group + limit) }

// items is what the callers and the program know of a generator that was called.
type items struct {
	limit uint64
	have  uint64   // its caller has those before; frame.All: it runs again for those that were lost
	lost  []uint64 // that its caller is to get again and has not got yet
	taken uint64   // by the caller's program
	quit  bool     // the caller wants no more
	next  uint64   // the item that the program yields next
	came  uint64   // 1 + the last item that the caller got in this run
	store bool     // the last item lies in the store
	room  *wait.Wait
}

// wanted reports whether the caller needs an item.
func (i *items) wanted(item uint64) bool { return item >= i.have || slices.Contains(i.lost, item) }

// left lists the lost items that this run has still to make.
func (i *items) left() []uint64 {
	return slices.DeleteFunc(slices.Clone(i.lost), func(x uint64) bool { return x < i.next })
}

// raises is the item that the exception becomes with which the generator ends now.
func (i *items) raises() uint64 {
	if i.have != frame.All {
		return max(i.next, i.have)
	}
	return append(i.left(), i.next)[0]
}

// sendsGenerator sends the call of a generator, which is new, was tried before, or runs again for lost items.
func (x *world) sendsGenerator(k *sent, group int) {
	limit := x.r.IntN(len(itemLimits))
	i := &items{limit: itemLimits[limit]}
	resume := new(frame.Resume)
	switch x.r.IntN(4) {
	case 0:
		resume.Have = uint64(x.r.IntN(4))
		resume.Taken = uint64(x.r.IntN(int(resume.Have) + 1))
		resume.Quit = x.r.IntN(10) == 0
	case 1:
		resume.Have, resume.Taken = frame.All, frame.All
		for item := range uint64(5) {
			if x.r.IntN(2) == 0 {
				resume.Lost = append(resume.Lost, item)
			}
		}
		k.again = len(resume.Lost) > 0
	}
	i.have, i.taken, i.quit, i.lost = resume.Have, resume.Taken, resume.Quit, slices.Clone(resume.Lost)
	k.items = i
	says(x.t, k.from.Caller, resumed(k.seq, generatorTemplate(group, limit), resume, nil))
}

// generators lists the generators among calls.
func generators(list []*sent) []*sent {
	return slices.DeleteFunc(list, func(k *sent) bool { return k.items == nil })
}

// aheadOf is how many items of a generator its caller has not taken.
func (i *items) aheadOf() uint64 { return i.next - min(i.next, i.taken) }

// state is what a generator is to do as far as it alone decides that.
func (x *world) state(k *sent) FeedState {
	i := k.items
	switch {
	case k.stops:
		return FeedCancelled
	case i.quit || k.from.gone || x.ended == sessionEnded || i.have == frame.All && len(i.left()) == 0:
		return FeedClosed
	case i.limit > 0 && i.aheadOf() >= i.limit || i.store && k.from.pipe.Unsent() > 0:
		return FeedFull
	}
	return FeedOpen
}

// yields has a generator yield, wait or end, as it is told.
func (x *world) yields() {
	list := slices.DeleteFunc(generators(x.in(begun)), func(k *sent) bool { return k.items.room != nil })
	if len(list) == 0 {
		return
	}
	k := pick(x.r, list)
	i, got, want := k.items, x.w.FeedState(k.call), x.state(k)
	if got != want && !(x.ahead > 0 && got == FeedFull && want == FeedOpen) {
		x.t.Fatalf("%s is told state %d, want %d: %+v", name(k.from, k.seq), got, want, i)
	}
	switch got {
	case FeedClosed, FeedCancelled:
		x.answers(k)
	case FeedFull:
		i.room = wait.New()
		x.w.AwaitRoom(k.call, i.room)
		if i.room.Over() {
			i.room = nil
		}
	default:
		x.yield(k)
	}
}

// yield has a generator yield its next item, which its caller gets once if it wants it.
func (x *world) yield(k *sent) {
	i := k.items
	y, err := x.w.Yield(k.call)
	if err != nil || y.Index != i.next || y.Wanted != i.wanted(i.next) {
		x.t.Fatalf("%s yields %+v, %v; want item %d, wanted: %v", name(k.from, k.seq), y, err, i.next, i.wanted(i.next))
	}
	if y.Wanted && x.r.IntN(8) == 0 { // it cannot be stored
		x.w.Unyield(k.call, y)
		return
	}
	i.next++
	if y.Wanted {
		i.store = x.r.IntN(3) == 0
		x.w.SendItem(k.call, y.Index, 0, frame.AppendCount(append(frame.AppendInlineResult(nil, 1), 'v'), 0), i.store, 0)
		if i.came != y.Index+1 {
			x.t.Fatalf("the caller of %s does not get item %d", name(k.from, k.seq), y.Index)
		}
	}
	i.lost = slices.DeleteFunc(i.lost, func(item uint64) bool { return item == y.Index })
}

// gets is what a caller does with an item that comes.
func (x *world) gets(k *sent, item uint64) {
	if k == nil || k.items == nil || k.stands != begun || !k.items.wanted(item) || item < k.items.came {
		x.t.Fatalf("item %d comes: %+v", item, k)
	}
	k.items.came = item + 1
}

// awaitRoom lists the generators that wait for room and whose callers are here.
func (x *world) awaitRoom() []*sent {
	return slices.DeleteFunc(generators(x.in(begun, blocked)), func(k *sent) bool { return k.items.room == nil || k.from.gone })
}

// consumes has a caller's program take items of a generator, or leave it.
func (x *world) consumes(p *sender) {
	mine := slices.DeleteFunc(generators(x.in(queued, fetching, begun, blocked)), func(k *sent) bool { return k.from != p })
	if len(mine) == 0 || p.pipe.paused {
		return
	}
	k := pick(x.r, mine)
	if stuck := slices.DeleteFunc(x.awaitRoom(), func(k *sent) bool { return k.from != p }); len(stuck) > 0 && x.r.IntN(2) == 0 {
		k = pick(x.r, stuck)
	}
	if x.r.IntN(6) == 0 {
		k.items.quit = true
		says(x.t, p.Caller, frame.AppendQuit(nil, k.seq))
	} else if have := max(k.items.came, k.items.taken); k.items.have != frame.All {
		k.items.taken += uint64(x.r.IntN(int(have-k.items.taken) + 1))
		says(x.t, p.Caller, frame.AppendTaken(nil, k.seq, k.items.taken))
	}
}

// consumeAll has all callers take what has come. Then no generator has to wait any more.
func (x *world) consumeAll() {
	for _, k := range generators(x.in(begun)) {
		if i := k.items; !k.from.gone && !k.from.pipe.paused && i.have != frame.All {
			i.taken = max(i.taken, i.next)
			says(x.t, k.from.Caller, frame.AppendTaken(nil, k.seq, i.taken))
		}
	}
	x.comeBack()
	for _, k := range generators(x.in(begun)) {
		if i := k.items; i.room != nil && !k.from.pipe.paused && (x.ahead == 0 || !x.held()) {
			x.t.Fatalf("%s waits for room although all that has come was taken: %+v", name(k.from, k.seq), i)
		}
	}
}

// held reports whether a caller is not read, so that the worker does not hear what it has taken.
func (x *world) held() bool {
	return slices.ContainsFunc(x.senders, func(p *sender) bool { return p.pipe.paused && !p.gone })
}

// checkGenerators looks at what generators are promised at any time.
func (x *world) checkGenerators() {
	ahead := 0
	for _, k := range generators(x.in(fetching, begun, blocked)) {
		i := k.items
		ahead += int(i.aheadOf())
		if i.limit > 0 && i.aheadOf() > i.limit {
			x.t.Fatalf("%s is %d items ahead of its caller, which is %d at most", name(k.from, k.seq), i.aheadOf(), i.limit)
		}
		sent := k.from.gone || k.from.pipe.Unsent() == 0
		closing := x.ended == sessionEnded && !k.from.gone // it is woken when the session closes the sockets
		if i.room != nil && !closing && x.state(k) != FeedFull && sent && (x.ahead == 0 || x.state(k) != FeedOpen) {
			x.t.Fatalf("%s waits for room although its state is %d: %+v", name(k.from, k.seq), x.state(k), i)
		}
	}
	if x.ahead > 0 && ahead > x.ahead {
		x.t.Fatalf("all generators together are %d items ahead of their callers, which is %d at most", ahead, x.ahead)
	}
}
