package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// cancelsWhileItRuns submits a task that may be tried again, cancels it when it
// has begun, lets it go on, and waits for the cancellation's error.
func cancelsWhileItRuns(t *testing.T, c *Client, begun <-chan struct{}, goOn chan<- struct{}) {
	t.Helper()
	id := submitText(t, c, triedAgain(t, c, 1, 3), "x")
	<-begun
	if err := c.Cancel(id, false, false); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if _, code := outcome(t, c, id); code != fault.TaskCancelled {
		t.Fatalf("the task ended with %q, want that it was cancelled", code)
	}
}

func TestCancel_TaskRaisesReferences_ItsWorkerLetsGoOfThem(t *testing.T) {
	d := startDaemon(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	var inside ids.Object
	w := d.worker(func(c *Client, it *Item) {
		close(begun)
		<-goOn
		inside = putBytes(t, c, 10, 1)
		v := Value{Fmt: FmtError, Meta: []byte("raised"), Nested: []ids.Object{inside}}
		if err := c.Reply(it.Token, []Value{v}, wire.ReplyAppError); err != nil {
			panic(err)
		}
		c.Release(Drop{Object: inside})
	})
	cancelsWhileItRuns(t, d.driver(), begun, goOn)
	d.eventually("the worker lets go of what the exception referred to", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.TakeDrops()
		return w.exec.Running() == 0 && w.table.Find(inside) == nil
	})
}

func TestCancel_AnswerWaitsForRoom_EndsAtOnce(t *testing.T) {
	d := startDaemon(t)
	d.full = true
	begun, goOn := make(chan struct{}), make(chan struct{})
	w := d.worker(func(c *Client, it *Item) {
		close(begun)
		<-goOn
		v := Value{Fmt: FmtPickle, Meta: []byte("large"), Bufs: [][]byte{make([]byte, 2*MaxInline)}}
		if err := c.Reply(it.Token, []Value{v}, 0); err != nil {
			panic(err)
		}
	})
	cancelsWhileItRuns(t, d.driver(), begun, goOn)
	d.eventually("the worker is free again", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.exec.Running() == 0
	})
}

// The cancellation comes while the answer waits already.
func TestCancel_WhileTheAnswerWaitsForRoom_EndsTheWait(t *testing.T) {
	d := startDaemon(t)
	d.full = true
	d.worker(func(c *Client, it *Item) {
		v := Value{Fmt: FmtPickle, Meta: []byte("large"), Bufs: [][]byte{make([]byte, 2*MaxInline)}}
		if err := c.Reply(it.Token, []Value{v}, 0); err != nil {
			panic(err)
		}
	})
	asked := make(chan struct{}, 1)
	d.answers(wire.TObjCreate, func(*wire.Message) bool {
		asked <- struct{}{}
		return false
	})
	c := d.driver()
	id := submitText(t, c, template(t, c, "f"), "x")
	<-asked // the answer waits for room
	if err := c.Cancel(id, false, false); err != nil {
		t.Fatal(err)
	}
	if _, code := outcome(t, c, id); code != fault.TaskCancelled {
		t.Fatalf("the task ended with %q, want that it was cancelled", code)
	}
}
