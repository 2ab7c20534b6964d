package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// When all generators of an actor together may be one item ahead, one that waits goes on when another one's item is taken, or goes with its generator.
func TestFeed_LimitOfOneForAll_OthersGoOnWhenItIsFree(t *testing.T) {
	w := startDaemon(t).programless()
	w.LimitFeeds(1)
	p := callsInto(t, w, wire.RoleActor, nil)
	flow := Flow{Mode: FlowStream, Counted: true}
	one, two := p.generates(1, flow, nil), p.generates(2, flow, nil)
	yields(t, w, one, "a", FeedFull)
	told := awaits(t, w, two)
	p.send(frame.AppendTaken(nil, 1, 1))
	isToldState(t, "the item of the other one is taken", told, FeedOpen)
	yields(t, w, one, "b", FeedFull)
	told = awaits(t, w, two)
	answers(t, w, one, "end")
	isToldState(t, "the other one has ended", told, FeedOpen)
	yields(t, w, two, "c", FeedFull)
	told = awaits(t, w, two)
	p.send(frame.AppendTaken(nil, 2, 1))
	isToldState(t, "its own item is taken", told, FeedOpen)
	answers(t, w, two, "end")
	isEmpty(t, w, "exec_calls")
}

// A call that begins while no answer waits to be sent notes no write: the first item of a generator leaves at once.
func TestFeed_FirstItem_LeavesAtOnce(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	it := p.generates(1, Flow{Mode: FlowStream}, nil)
	w.mu.Lock()
	in := w.exec.Call(it.Token).Caller.Pipe()
	w.mu.Unlock()
	yields(t, w, it, "a", FeedOpen)
	w.mu.Lock()
	if in.Unsent() != 0 {
		t.Errorf("%d bytes of the first item have not left", in.Unsent())
	}
	w.mu.Unlock()
	p.isItem(1, 0, "a")
	answers(t, w, it, "end")
}
