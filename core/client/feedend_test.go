package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wire"
)

// A generator that has ended is not among its caller's generators any more, and the others stay.
// It calls as of an actor: a lease's second call could go back to its caller before the test takes it.
func TestFeed_Ends_ItsConnectionForgetsIt(t *testing.T) {
	w := startDaemon(t).programless()
	p := calls(t, w, wire.RoleActor, nil)
	one := p.generates(1, Flow{Mode: FlowStream}, nil)
	two := p.generates(2, Flow{Mode: FlowStream}, nil)
	in := connOf(t, w)
	answers(t, w, one, "end")
	w.mu.Lock()
	if len(in.feeds) != 1 || in.feeds[2] == nil {
		t.Errorf("the connection has the generators %v, want the second one", in.feeds)
	}
	w.mu.Unlock()
	answers(t, w, two, "end")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(in.feeds) != 0 {
		t.Errorf("the connection has %d generators when all have ended", len(in.feeds))
	}
}

// A caller that names a lost item twice gets it once, and the generator ends behind it.
func TestFeed_LastItemWasLostTwice_ItEndsBehindIt(t *testing.T) {
	w := startDaemon(t).programless()
	p := calls(t, w, wire.RoleLease, nil)
	it := p.generates(5, Flow{Mode: FlowStream}, &frame.Resume{Have: frame.All, Taken: frame.All, Lost: []uint64{1, 1}})
	for i, want := range []FeedState{FeedOpen, FeedOpen, FeedClosed} {
		yields(t, w, it, string(rune('0'+i)), want)
	}
	answers(t, w, it, "end")
	p.isItem(5, 1, "1")
	p.isReply(5, 0, "end")
}
