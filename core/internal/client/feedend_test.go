package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A caller that names a lost item twice gets it once, and the generator ends behind it.
func TestFeed_LastItemWasLostTwice_ItEndsBehindIt(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	it := p.generates(5, Flow{Mode: FlowStream}, &frame.Resume{Have: frame.All, Taken: frame.All, Lost: []uint64{1, 1}})
	for i, want := range []FeedState{FeedOpen, FeedOpen, FeedClosed} {
		yields(t, w, it, string(rune('0'+i)), want)
	}
	answers(t, w, it, "end")
	p.isItem(5, 1, "1")
	p.isReply(5, 0, "end")
}
