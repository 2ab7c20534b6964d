package client

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// refItem is a generator's item, of a size, which holds a reference to a new object of the worker's.
func refItem(t *testing.T, w *Client, size int) *Value {
	t.Helper()
	id := putBytes(t, w, 10, 1)
	return &Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, size)}, Nested: []ids.Object{id}}
}

// idles has a worker's program wait for work, which is when the worker reads its sockets, until the test ends.
func idles(t *testing.T, w *Client) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if it, err := w.NextTask(-1, ""); err != nil || it != nil && it.Kind == ItemExit {
				return
			}
		}
	}()
	t.Cleanup(func() {
		w.Close(0)
		<-done
	})
}

// A caller that has left takes no item any more: what its items refer to goes.
func TestFeedItem_CallerLeavesBetweenItems_WhatTheyReferToGoes(t *testing.T) {
	for what, size := range map[string]int{"small": 10, "large": 2 * MaxInline} {
		for left := range 4 {
			t.Run(fmt.Sprint(what, left), func(t *testing.T) {
				d := startDaemon(t)
				w := d.programless()
				p := callsInto(t, w, wire.RoleActor, nil)
				p.send(generatorOf(1, Flow{Mode: FlowStream, Each: 1}), callWith(1, 1, frame.Place{Envelope: inlineText("x")}, &frame.Resume{}))
				it := takes(t, w)
				for i := range 3 {
					if i == left {
						p.leave()
					}
					v := refItem(t, w, size)
					if _, err := w.FeedItem(it.Token, v, 0); err != nil {
						t.Fatal(err)
					}
					w.Release(Drop{Object: v.Nested[0]})
				}
				answers(t, w, it, "end")
				p.leave()
				idles(t, w)
				isEmpty(t, w, "held", "owned", "exec_callers")
			})
		}
	}
}

// A caller may leave while a large item goes to the arena: what that item refers to goes, too.
func TestFeedItem_CallerLeavesWhileALargeItemIsStored_WhatItRefersToGoes(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	p := callsInto(t, w, wire.RoleActor, nil)
	p.send(generatorOf(1, Flow{Mode: FlowStream, Each: 1}), callWith(1, 1, frame.Place{Envelope: inlineText("x")}, &frame.Resume{}))
	it := takes(t, w)
	idles(t, w)
	v := refItem(t, w, 2*MaxInline)
	asked := make(chan *wire.Message, 1)
	d.answers(wire.TObjCreate, func(m *wire.Message) bool {
		asked <- m
		return true
	})
	stored := make(chan error, 1)
	go func() {
		_, err := w.FeedItem(it.Token, v, 0)
		stored <- err
	}()
	m := <-asked
	p.leave()
	isEmpty(t, w, "exec_callers")
	d.mu.Lock()
	d.first = nil
	d.mu.Unlock()
	d.handle(m, "")
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	w.Release(Drop{Object: v.Nested[0]})
	answers(t, w, it, "end")
	isEmpty(t, w, "held", "owned")
}
