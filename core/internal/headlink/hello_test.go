package headlink_test

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// A hello that the head reads late, after that of a newer connection, does not push the newer one out, and does not make
// the head forget orders. The older connection is one of the same process, or of the process before it.
func TestHello_IsReadAfterThatOfANewerConnection_IsRefused(t *testing.T) {
	for name, change := range map[string]func(older, newer *linkmsg.Hello){
		"one process":   func(older, newer *linkmsg.Hello) { older.Connection, newer.Connection = 1, 2 },
		"two processes": func(older, newer *linkmsg.Hello) { older.Connection, newer.Client = 9, [16]byte{2} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true)
			w.startHead(true)
			first, second := w.stranger(), w.stranger()
			older, newer := hello(), hello()
			change(&older, &newer)
			if err := second.Call(w.ctx, linkmsg.THello, encoded(t, &newer), nil); err != nil {
				t.Fatal(err)
			}
			if err := w.server.Order(nodeNumber, actor(1)); err != nil {
				t.Fatal(err)
			}
			err := first.Call(w.ctx, linkmsg.THello, encoded(t, &older), nil)
			if err == nil || !strings.Contains(err.Error(), "newer connection of node 7") {
				t.Errorf("the older connection: %v", err)
			}
			if n := w.server.Untaken(nodeNumber); n != 1 {
				t.Errorf("%d of 1 orders are kept", n)
			}
			var a linkmsg.Answer
			ask := linkmsg.Ask{N: 1, Op: linkmsg.OpNodes, Body: linkmsg.Nothing}
			if err := second.Call(w.ctx, linkmsg.TAsk, encoded(t, &ask), &a); err != nil || a.Err != nil {
				t.Errorf("the newer connection: %v, %v", err, a.Err)
			}
			second.Close()
			until(t, "the newer connection ends", func() bool { return w.server.Connections() == 1 })
			if err := first.Call(w.ctx, linkmsg.THello, encoded(t, &older), nil); err == nil {
				t.Error("the older connection is let in when the newer one has ended")
			}
		})
	}
}

// A node speaks with a head, then with another one that acknowledges reports, and then with the first one again, which has not heard of them.
func TestHello_AnotherHeadHasAcknowledgedReports_TheyAreNotWaitedFor(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	before, after := hello(), hello()
	before.First, before.Connection = 5, 1
	after.First, after.Connection = 9, 2
	var welcome linkmsg.Welcome
	if err := w.stranger().Call(w.ctx, linkmsg.THello, encoded(t, &before), &welcome); err != nil || welcome.Reports != 4 {
		t.Fatalf("welcomed with %+v, %v", welcome, err)
	}
	if err := w.stranger().Call(w.ctx, linkmsg.THello, encoded(t, &after), &welcome); err != nil || welcome.Reports != 8 {
		t.Errorf("welcomed with %+v, %v: the node keeps report 9 and later ones only", welcome, err)
	}
}
