package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/transport"
)

// A call that has begun or was sent back before leaves the queue and goes to
// nobody; calls that are nobody's lease stay, in their order.
func TestBounceAll_TakenOnesGoNowhere_OthersThanTasksStay(t *testing.T) {
	lease := &inConn{lease: true}
	gone := &inConn{lease: true}
	gone.Conn = transport.Closed(new(transport.Poller))
	actor := &inConn{}
	begun := &call{in: lease, tmpl: &RemoteTemplate{}, taken: true, seq: 7}
	lease.feeds = map[uint32]*call{7: begun}
	stay := []*call{{in: actor, tmpl: &RemoteTemplate{}}, {in: lease}, {in: gone, tmpl: &RemoteTemplate{}}, {tmpl: &RemoteTemplate{}}}
	e := &executor{lane: lane{queue: []*call{stay[0], begun, stay[1], stay[2], begun, stay[3]}}}
	all := e.queue
	e.bounceAll()
	if !slices.Equal(e.queue, stay) {
		t.Errorf("%d calls stay, want %d", len(e.queue), len(stay))
	}
	if lease.Unsent()+gone.Unsent()+actor.Unsent() > 0 {
		t.Error("a call is given back that is not to be")
	}
	if lease.feeds[7] != begun {
		t.Error("a call that has begun is given back, and hears no more of what its caller consumes")
	}
	if all[4] != nil || all[5] != nil {
		t.Error("the queue's memory holds calls that have left it")
	}
}
