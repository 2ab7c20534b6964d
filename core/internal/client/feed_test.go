package client

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// yields has a generator yield a text, and checks what it is told to do then.
func yields(t *testing.T, w *Client, it *Item, text string, want FeedState) {
	t.Helper()
	st, err := w.FeedItem(it.Token, &Value{Fmt: FmtPickle, Meta: []byte(text)}, 0)
	if err != nil || st != want {
		t.Errorf("after %q the generator is in state %d, %v, want state %d", text, st, err, want)
	}
}

// hasRoom checks what a generator is told that waits.
func hasRoom(t *testing.T, w *Client, it *Item, timeout time.Duration, want FeedState) {
	t.Helper()
	if st, err := w.FeedRoom(it.Token, timeout); err != nil || st != want {
		t.Errorf("a generator that waits is told state %d, %v, want state %d", st, err, want)
	}
}

// awaits starts a generator's wait without end. What it is told comes from the channel.
func awaits(t *testing.T, w *Client, it *Item) <-chan FeedState {
	t.Helper()
	told := make(chan FeedState, 1)
	go func() {
		st, err := w.FeedRoom(it.Token, -1)
		if err != nil {
			st = -1
		}
		told <- st
	}()
	waitFor(t, "the generator waits", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.exec.Counts().Blocked > 0
	})
	return told
}

func isToldState(t *testing.T, what string, told <-chan FeedState, want FeedState) {
	t.Helper()
	select {
	case st := <-told:
		if st != want {
			t.Errorf("%s: the generator is told state %d, want %d", what, st, want)
		}
	case <-time.After(testLimit):
		t.Fatalf("%s: the generator waits for ever", what)
	}
}

// generates starts a generator of a caller.
func (p *fakeCaller) generates(seq uint32, f Flow, resume *frame.Resume) *Item {
	p.t.Helper()
	if resume == nil {
		resume = new(frame.Resume)
	}
	p.send(generatorOf(uint64(seq), f), callWith(seq, uint64(seq), frame.Place{Envelope: inlineText("")}, resume))
	it := takes(p.t, p.w)
	if it.Returns != returnsOf(f) {
		p.t.Errorf("a generator of %+v is to return %d, want %d", f, it.Returns, returnsOf(f))
	}
	return it
}

func TestFeed_Limit_WaitsUntilItemsAreTaken(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	it := p.generates(7, Flow{Mode: FlowStream, Limit: 2}, nil)
	yields(t, w, it, "a", FeedOpen)
	yields(t, w, it, "b", FeedFull)
	p.isItem(7, 0, "a")
	p.isItem(7, 1, "b")
	hasRoom(t, w, it, time.Millisecond, FeedFull)
	told := awaits(t, w, it)
	p.send(frame.AppendTaken(nil, 8, 9)) // of another call
	p.send(frame.AppendTaken(nil, 7, 1))
	isToldState(t, "one item is taken", told, FeedOpen)
	yields(t, w, it, "c", FeedFull)
	told = awaits(t, w, it)
	p.send(frame.AppendTaken(nil, 7, 0)) // an old count changes nothing
	p.send(frame.AppendTaken(nil, 7, 10))
	isToldState(t, "more is taken than there is", told, FeedOpen)
	for range 8 {
		yields(t, w, it, "d", FeedOpen)
	}
	yields(t, w, it, "e", FeedFull) // 12 are yielded and 10 taken
	told = awaits(t, w, it)
	p.send(frame.AppendTaken(nil, 7, frame.All))
	isToldState(t, "there is no limit any more", told, FeedOpen)
	yields(t, w, it, "f", FeedOpen)
	answers(t, w, it, "end")
	isEmpty(t, w, "exec_calls", "exec_queue")
}

// Whatever ends a generator wakes it, and what it yields then goes to nobody.
func TestFeed_Ends_WhileItWaits(t *testing.T) {
	for _, how := range []string{"its caller wants no more", "it is cancelled", "its caller leaves", "the session closes"} {
		t.Run(how, func(t *testing.T) {
			w := startDaemon(t).programless()
			p := callsInto(t, w, wire.RoleLease, nil)
			it := p.generates(3, Flow{Mode: FlowStream, Limit: 1}, nil)
			yields(t, w, it, "a", FeedFull)
			told := awaits(t, w, it)
			want := FeedClosed
			switch how {
			case "its caller wants no more":
				p.send(frame.AppendQuit(nil, 4)) // another call
				p.send(frame.AppendQuit(nil, 3))
			case "it is cancelled":
				want = FeedCancelled
				cancels(w, it.TaskID)
			case "its caller leaves":
				p.leave()
			case "the session closes":
				w.Close(0)
			}
			isToldState(t, how, told, want)
			if how == "the session closes" {
				return
			}
			yields(t, w, it, "b", want)
			hasRoom(t, w, it, -1, want)
			if err := w.Reply(it.Token, []Value{{Fmt: FmtPickle, Meta: []byte("end")}}, 0); err != nil {
				t.Fatal(err)
			}
			if how == "its caller wants no more" {
				p.isItem(3, 0, "a")
				p.isReply(3, 0, "end")
			}
			isEmpty(t, w, "exec_calls", "views")
			if _, err := w.FeedRoom(it.Token, -1); fault.CodeOf(err) != fault.BadRequest {
				t.Errorf("a generator that has ended waits: %v", err)
			}
		})
	}
}

// A generator that runs again sends what its caller lacks, and ends after that
// when its caller had everything else.
func TestFeed_RunsAgain_SendsWhatItsCallerLacks(t *testing.T) {
	for _, x := range []struct {
		name   string
		mode   int
		resume frame.Resume
		sent   []uint64
		closed int // after so many items; 0: it goes on
	}{
		{"the first ones came", FlowStream, frame.Resume{Have: 3, Taken: 1}, []uint64{3, 4, 5}, 0},
		{"one of them was lost", FlowStream, frame.Resume{Have: 3, Lost: []uint64{1}}, []uint64{1, 3, 4, 5}, 0},
		{"two neighbours were lost", FlowStream, frame.Resume{Have: 4, Lost: []uint64{0, 1}}, []uint64{0, 1, 4, 5}, 0},
		{"all came, and two were lost", FlowStream, frame.Resume{Have: frame.All, Taken: frame.All, Lost: []uint64{1, 3}}, []uint64{1, 3}, 4},
		{"a list whose items all came", FlowDynamic, frame.Resume{Have: frame.All, Taken: frame.All, Lost: []uint64{2}}, []uint64{2}, 0},
		{"one was lost twice", FlowStream, frame.Resume{Have: 2, Lost: []uint64{0, 0, 1}}, []uint64{0, 1, 2, 3, 4, 5}, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := startDaemon(t).programless()
			p := callsInto(t, w, wire.RoleLease, nil)
			it := p.generates(5, Flow{Mode: x.mode}, &x.resume)
			for i := range 6 {
				want := FeedOpen
				if x.closed > 0 && i+1 >= x.closed {
					want = FeedClosed
				}
				yields(t, w, it, fmt.Sprint(i), want)
			}
			answers(t, w, it, "end")
			for _, i := range x.sent {
				p.isItem(5, i, fmt.Sprint(i))
			}
			p.isReply(5, 0, "end")
		})
	}
}

// What a resumed generator has taken counts against its limit.
func TestFeed_RunsAgain_TakenItemsCount(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	it := p.generates(5, Flow{Mode: FlowStream, Limit: 2}, &frame.Resume{Have: 3, Taken: 2})
	for i, want := range []FeedState{FeedOpen, FeedOpen, FeedOpen, FeedFull} {
		yields(t, w, it, fmt.Sprint(i), want)
	}
}

// Of a generator that nobody wants any more the program hears nothing.
func TestFeed_NobodyWantsItBeforeItBegins_IsAnswered(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	p.send(generatorOf(1, Flow{Mode: FlowStream}),
		callWith(1, 1, frame.Place{Envelope: inlineText("")}, &frame.Resume{Quit: true}),
		callWith(2, 1, frame.Place{Envelope: inlineText("")}, new(frame.Resume)),
		frame.AppendQuit(nil, 2),
		callWith(3, 1, frame.Place{Envelope: inlineText("third")}, new(frame.Resume)))
	it := takes(t, w)
	if text := textOf(it); text != "third" {
		t.Errorf("the program gets %q, want the third call", text)
	}
	p.isReply(1, 0, "")
	p.isReply(2, 0, "")
	answers(t, w, it, "end")
	p.isReply(3, 0, "end")
	isEmpty(t, w, "exec_calls", "exec_queue")
}

// All generators of an actor together may be so many items ahead. The one that is less far ahead goes first.
func TestFeed_LimitOfAllTogether_EachHasItsTurn(t *testing.T) {
	w := startDaemon(t).programless()
	w.LimitFeeds(3)
	p := callsInto(t, w, wire.RoleActor, nil)
	flow := Flow{Mode: FlowStream, Counted: true}
	one := p.generates(1, flow, nil)
	two := p.generates(2, flow, nil)
	p.send(templateOf(9, nil), callOf(9, 9, "no generator")) // which counts nothing
	plain := takes(t, w)
	yields(t, w, one, "a", FeedOpen)
	yields(t, w, one, "b", FeedOpen)
	yields(t, w, one, "c", FeedFull)
	yields(t, w, two, "A", FeedFull)
	toldOne, toldTwo := awaits(t, w, one), awaits(t, w, two)
	p.send(frame.AppendTaken(nil, 1, 1)) // 3 are left
	p.send(frame.AppendTaken(nil, 1, 2)) // 2: there is room for one
	isToldState(t, "the one that is behind", toldTwo, FeedOpen)
	isToldState(t, "the other one, which is no further ahead", toldOne, FeedOpen)
	yields(t, w, two, "B", FeedFull)
	told := awaits(t, w, two)
	answers(t, w, one, "end") // its item no longer counts
	isToldState(t, "the other one has ended", told, FeedOpen)
	answers(t, w, two, "end")
	answers(t, w, plain, "end")
	isEmpty(t, w, "exec_calls")
}

func TestFeed_CallsThatAreNoGenerators_AreRefused(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleActor, func(h *wire.Hello) { h.Addr = "the address of the owner" })
	p.send(templateOf(9, nil), callOf(9, 9, "no generator"))
	plain := takes(t, w)
	it := p.generates(1, Flow{Mode: FlowStream}, nil)
	if addr, err := w.FeedOwner(it.Token); addr != "the address of the owner" || err != nil {
		t.Errorf("the owner of the items is at %q, %v", addr, err)
	}
	for what, token := range map[string]uint64{"a plain task": plain.Token, "a call that there is not": it.Token + 1} {
		_, item := w.FeedItem(token, text("x"), 0)
		_, waits := w.FeedRoom(token, 0)
		_, owner := w.FeedOwner(token)
		_, watch := w.FeedWatch(token, 1)
		for i, err := range []error{item, waits, owner, watch} {
			if fault.CodeOf(err) != fault.BadRequest {
				t.Errorf("%s, question %d: %v", what, i, err)
			}
		}
	}
	answers(t, w, plain, "the task is not harmed")
	p.isReply(9, 0, "the task is not harmed")
}

// An event loop is told when it is worth to look at a generator again.
func TestFeed_Watched_TheEventLoopIsRung(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	it := p.generates(1, Flow{Mode: FlowStream, Limit: 1}, nil)
	if st, err := w.FeedWatch(it.Token, 11); st != FeedOpen || err != nil {
		t.Errorf("%d, %v", st, err)
	}
	yields(t, w, it, "a", FeedFull)
	if st, err := w.FeedWatch(it.Token, 12); st != FeedFull || err != nil {
		t.Errorf("%d, %v", st, err)
	}
	if got := w.AsyncDrain(); len(got) != 0 {
		t.Errorf("rung for %v although nothing was taken", got)
	}
	p.send(frame.AppendTaken(nil, 1, 1))
	fds := []unix.PollFd{{Fd: int32(w.AsyncFD()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, int(testLimit.Milliseconds())); n != 1 && err != unix.EINTR {
		t.Fatalf("not rung: %v", err)
	}
	if got := w.AsyncDrain(); !slices.Equal(got, []uint64{12}) {
		t.Errorf("rung for %v, want 12", got)
	}
	if st, err := w.FeedWatch(it.Token, 13); st != FeedOpen || err != nil {
		t.Errorf("%d, %v", st, err)
	}
	answers(t, w, it, "end")
	if got := w.AsyncDrain(); len(got) != 0 {
		t.Errorf("rung for %v, which did not wait", got)
	}
}

// An item that the store cannot take is the generator's error and takes no place among the items: what the generator
// yields next, or the exception that ends it, has that place.
func TestFeed_ItemDoesNotFit_IsAnErrorOfTheGenerator(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	it := p.generates(1, Flow{Mode: FlowStream}, nil)
	v := &Value{Fmt: FmtPickle, Meta: []byte("large"), Bufs: [][]byte{make([]byte, d.size+1)}}
	if st, err := w.FeedItem(it.Token, v, 0); st != 0 || fault.CodeOf(err) != fault.StoreFull {
		t.Errorf("%d, %v", st, err)
	}
	v.Bufs[0] = v.Bufs[0][:1<<19]
	st, err := w.FeedItem(it.Token, v, 0)
	if err != nil || st != FeedOpen && st != FeedFull {
		t.Errorf("%d, %v", st, err)
	}
	if s := p.reads(); s.op != wire.OpItem || s.item.Index != 0 || s.texts[0] != "stored" {
		t.Errorf("the worker says %+v, want the first item", s)
	}
	id := ids.NewObject(100+1, p.self, w.info.Job, 2)
	d.eventually("it lies in the store under its own id", func() bool { _, there := d.objects[string(id[:])]; return there })
	answers(t, w, it, "end")
}

// returnsOf is what an item of a call says of a generator: the number of results of an item, and in the lowest bit whether it streams.
func returnsOf(f Flow) int { return -(2*(max(1, f.Each)-1) + f.Mode) }
