package joblogs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/play/peers"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// job is a job of a driver on node 1.
var job = ids.Job{1}

// world is a network of nodes with a Logs each. Connections are made when they are wanted.
type world struct {
	t *testing.T

	net   peers.Network
	nodes map[uint32]*node
}

type node struct {
	w      *world
	number uint32
	*Logs

	mu      sync.Mutex
	refused []error
	ended   []ids.Job
	hold    chan struct{} // not nil: messages are handled when it is closed
	batches int           // messages with output that have come
	arrays  int           // bodies that are no maps, so that no field could be added
	shown   []wire.LogLine
}

// play runs a test in a bubble with nodes 1 and 2 and so on, whose addresses end with their numbers.
func play(t *testing.T, nodes uint32, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, nodes: make(map[uint32]*node)}
		for i := range nodes {
			n := &node{w: w, number: i + 1}
			n.Logs = New(Options{Node: n.number, Address: fmt.Sprintf("10.0.0.%d", n.number), Network: n, Ended: n.jobEnded, Refused: n.refuse})
			w.nodes[n.number] = n
			w.net.Add(n.number, n.got)
		}
		defer w.close()
		f(w)
	})
}

func (w *world) close() {
	for i := range w.nodes {
		w.net.Cut(i)
	}
	for _, n := range w.nodes {
		n.Close()
	}
	time.Sleep(time.Second) // sinks pause after a batch
}

// Control implements Network.
func (n *node) Control(to uint32) (*wire.Peer, error) { return n.w.net.Control(n.number, to) }

func (n *node) got(from uint32, m *wire.Message) {
	if hold := n.counted(m); hold != nil {
		<-hold
	}
	if !n.Handle(from, m) {
		_ = m.Fail(fault.New(fault.BadRequest, "not about output"))
	}
}

func (n *node) counted(m *wire.Message) (hold chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m.Type == linkmsg.TOutput {
		n.batches++
	}
	if m.Body[0]&0xf0 != 0x80 {
		n.arrays++
	}
	return n.hold
}

func (n *node) locked(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func (n *node) refuse(err error)     { n.locked(func() { n.refused = append(n.refused, err) }) }
func (n *node) jobEnded(job ids.Job) { n.locked(func() { n.ended = append(n.ended, job) }) }

func (n *node) show(lines []wire.LogLine) { n.locked(func() { n.shown = append(n.shown, lines...) }) }

// messages returns how many messages with output have come.
func (n *node) messages() (count int) {
	n.locked(func() { count = n.batches })
	return count
}

// texts waits until nothing goes on, and returns what the driver of a node has been shown.
func (n *node) texts() (all []string) {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	n.locked(func() {
		for _, l := range n.shown {
			all = append(all, l.Text)
		}
	})
	return all
}

// drives begins a job on a node, whose driver wants what workers write.
func (n *node) drives() {
	n.Drives(job, workers.NewSink(n.show, func() int { return 0 }), n.show)
}

func lines(texts ...string) (all []wire.LogLine) {
	for _, text := range texts {
		all = append(all, wire.LogLine{Pid: 7, Text: text})
	}
	return all
}

func TestOutput_OfAnotherNode_ReachesTheDriverInOrder(t *testing.T) {
	play(t, 3, func(w *world) {
		a, b, c := w.nodes[1], w.nodes[2], w.nodes[3]
		a.drives()
		b.Runs(job, 1)
		c.Runs(job, 1)
		of := map[uint32]*workers.Sink{2: b.Open(job), 3: c.Open(job)}
		full := wire.LogLine{Pid: 8, Name: "f", Stderr: true, Carriage: true, Text: "10%", Source: "daemon"}
		of[2].Add([]wire.LogLine{full})
		a.texts()
		full.Node = "10.0.0.2"
		if len(a.shown) != 1 || a.shown[0] != full {
			w.t.Errorf("got %+v, want %+v", a.shown, full)
		}
		for i := range 10_000 {
			of[uint32(2+i%2)].Add(lines(fmt.Sprint(i)))
		}
		a.texts()
		next := map[string]int{"10.0.0.2": 0, "10.0.0.3": 1}
		for _, l := range a.shown[1:] {
			if l.Text != fmt.Sprint(next[l.Node]) {
				w.t.Fatalf("%s comes from %s, which has %d next", l.Text, l.Node, next[l.Node])
			}
			next[l.Node] += 2
		}
		if next["10.0.0.2"] != 10_000 || next["10.0.0.3"] != 10_001 {
			w.t.Errorf("what would come next is %v", next)
		}
	})
}

// As in Ray, the address is shown of another machine only.
func TestOutput_OfANodeOfTheSameMachine_HasNoAddress(t *testing.T) {
	play(t, 2, func(w *world) {
		a, b := w.nodes[1], w.nodes[2]
		b.o.Address = a.o.Address
		a.drives()
		b.Runs(job, 1)
		b.Open(job).Add(lines("near"))
		if a.texts(); len(a.shown) != 1 || a.shown[0].Node != "" {
			t.Errorf("got %+v", a.shown)
		}
	})
}

func TestOutput_NewsOfTheJobIsLate_WaitsForIt(t *testing.T) {
	play(t, 2, func(w *world) {
		a, b := w.nodes[1], w.nodes[2]
		a.drives()
		sink := b.Open(job)
		sink.Add(lines("early"))
		b.Runs(ids.Job{2}, 1)
		if got := a.texts(); len(got) != 0 {
			t.Errorf("got %q", got)
		}
		b.Runs(job, 1)
		if got := a.texts(); !slices.Equal(got, []string{"early"}) {
			t.Errorf("got %q", got)
		}
		b.Over(job)
		later := b.Open(job)
		later.Add(lines("of a job that has ended"))
		b.Runs(job, 2) // no node sends to itself
		if got := a.texts(); len(got) != 1 {
			t.Errorf("got %q", got)
		}
	})
}

func TestOutput_DriverDoesNotWantIt_WarningsComeAllTheSame(t *testing.T) {
	play(t, 2, func(w *world) {
		a, b := w.nodes[1], w.nodes[2]
		a.Drives(job, nil, a.show)
		b.Runs(job, 1)
		sink := b.Open(job)
		synctest.Wait()
		for range 5 {
			sink.Add(lines("quiet"))
			time.Sleep(100 * time.Millisecond)
		}
		if n := a.messages(); n != 1 {
			t.Errorf("%d messages were sent, only the first should be", n)
		}
		sink.Add([]wire.LogLine{{Text: "quiet"}, {Text: "the disk is full", Source: "daemon"}})
		if got := a.texts(); !slices.Equal(got, []string{"the disk is full"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestOutput_NodeOfTheDriverIsSilent_OldestLinesAreDroppedAndCounted(t *testing.T) {
	play(t, 2, func(w *world) {
		a, b := w.nodes[1], w.nodes[2]
		a.drives()
		b.Runs(job, 1)
		sink := b.Open(job)
		synctest.Wait()
		hold := make(chan struct{})
		a.locked(func() { a.hold, a.batches = hold, 0 })
		text := strings.Repeat("x", 64<<10)
		for i := range 1000 {
			sink.Add(lines(fmt.Sprint(i, " ", text)))
			time.Sleep(time.Millisecond)
		}
		if n := a.messages(); n != 1 {
			t.Errorf("%d batches are on their way", n)
		}
		close(hold)
		time.Sleep(time.Second)
		got := a.texts()
		count, found := 0, 0
		for _, text := range got {
			if strings.Contains(text, "lines of output were dropped") {
				found++
				if _, err := fmt.Sscan(text, &count); err != nil {
					t.Error(err)
				}
			}
		}
		if found != 1 || count < 400 || len(got)-1+count != 1000 || !strings.HasPrefix(got[len(got)-1], "999 ") {
			t.Errorf("%d lines came, %d were dropped, which was said %d times", len(got)-1, count, found)
		}
	})
}

func TestOutput_ConnectionBreaks_WhatMayBeLostIsCounted(t *testing.T) {
	play(t, 2, func(w *world) {
		a, b := w.nodes[1], w.nodes[2]
		a.drives()
		b.Runs(job, 1)
		sink := b.Open(job)
		synctest.Wait()
		never := make(chan struct{})
		a.locked(func() { a.hold = never })
		sink.Add(lines("one", "two"))
		time.Sleep(100 * time.Millisecond)
		a.locked(func() { a.hold = nil })
		w.net.Cut(2)
		time.Sleep(10 * time.Millisecond)
		sink.Add(lines("three"))
		if got := a.texts(); len(got) != 0 {
			t.Errorf("got %q before a second has passed", got)
		}
		time.Sleep(retryPause)
		if got := a.texts(); len(got) != 2 || !strings.HasPrefix(got[0], "2 lines of output may be lost") || got[1] != "three" || a.shown[0].Source != "daemon" {
			t.Errorf("got %q", got)
		}
		sink.Add(lines("four"))
		if got := a.texts(); len(got) != 3 {
			t.Errorf("got %q", got)
		}
		close(never)
	})
}

func TestFinish_WaitsForOtherNodes(t *testing.T) {
	play(t, 3, func(w *world) {
		a, b, c := w.nodes[1], w.nodes[2], w.nodes[3]
		a.drives()
		b.Runs(job, 1)
		c.Runs(job, 1)
		ending, staying := b.Open(job), c.Open(job)
		synctest.Wait()
		b.o.Ended = func(ids.Job) { // the daemon ends the workers, and they say their last words
			b.End(ending)
			ending.Add(lines("last words"))
		}
		c.o.Ended = func(ids.Job) { c.End(staying) }
		began := time.Now()
		a.Finish(job, true, nil)
		if took := time.Since(began); took > DrainLimit/2 || len(a.shown) != 1 || a.shown[0].Text != "last words" {
			t.Errorf("after %v the driver has %+v", took, a.shown)
		}
		for _, n := range w.nodes {
			if n.arrays > 0 {
				t.Errorf("%d bodies that came to node %d are no maps", n.arrays, n.number)
			}
			if s := n.Sizes(); s["log_senders"]+s["log_drivers"] != 0 {
				t.Errorf("node %d has %v", n.number, s)
			}
		}
	})
}

// The job goes on for detached actors. What has been read so far comes before the driver leaves.
func TestFinish_JobGoesOn_OnlyFlushes(t *testing.T) {
	play(t, 2, func(w *world) {
		a, b := w.nodes[1], w.nodes[2]
		a.drives()
		b.Runs(job, 1)
		sink := b.Open(job)
		synctest.Wait()
		sink.Add(lines("read"))
		a.Finish(job, false, nil)
		if len(a.shown) != 1 || len(b.ended) != 0 || b.Sizes()["log_senders"] != 1 {
			t.Errorf("got %+v; ended: %v; %v", a.shown, b.ended, b.Sizes())
		}
		sink.Add(lines("for nobody"))
		if got := a.texts(); len(got) != 1 {
			t.Errorf("got %q", got)
		}
	})
}

func TestFinish_NodeIsSilentOrGone_EndsAllTheSame(t *testing.T) {
	for what, gone := range map[string]bool{"silent": false, "gone": true} {
		t.Run(what, func(t *testing.T) {
			play(t, 2, func(w *world) {
				a, b := w.nodes[1], w.nodes[2]
				a.drives()
				b.Runs(job, 1)
				sink := b.Open(job)
				a.texts()
				hold := make(chan struct{})
				defer close(hold)
				b.locked(func() { b.hold = hold })
				limit := DrainLimit + 2*flushLeast
				if gone {
					limit = flushLeast
					a.NodeGone(2)
				}
				began := time.Now()
				a.Finish(job, true, nil)
				if took := time.Since(began); took > limit || !gone && took < DrainLimit {
					t.Errorf("it took %v", took)
				}
				sink.Close()
			})
		})
	}
}

func TestEnd_WhatCannotBeSentIsDropped(t *testing.T) {
	play(t, 1, func(w *world) {
		a := w.nodes[1]
		sink := a.Open(job) // nobody says where its driver is
		sink.Add(lines("lost"))
		began := time.Now()
		a.End(sink)
		a.End(workers.NewSink(func([]wire.LogLine) {}, func() int { return 0 })) // which is not its own
		synctest.Wait()
		if a.Sizes()["log_senders"] != 1 {
			t.Error("it ends before its limit")
		}
		time.Sleep(DrainLimit + time.Millisecond)
		synctest.Wait()
		if took := time.Since(began); a.Sizes()["log_senders"] != 0 {
			t.Errorf("after %v it is still there", took)
		}
	})
}

func TestHandle_WhatMakesNoSense_IsRefused(t *testing.T) {
	play(t, 3, func(w *world) {
		a, b, c := w.nodes[1], w.nodes[2], w.nodes[3]
		a.drives()
		b.Runs(job, 1)
		b.Open(job)
		synctest.Wait()
		one := func(l linkmsg.OutputLine) linkmsg.Output {
			return linkmsg.Output{Job: job, Lines: []linkmsg.OutputLine{l}}
		}
		long := strings.Repeat("x", linkmsg.MaxOutputText+1)
		for what, x := range map[string]struct {
			to   uint32
			t    wire.Type
			body any
			want string
		}{
			"too many lines": {1, linkmsg.TOutput, linkmsg.Output{Job: job, Lines: make([]linkmsg.OutputLine, linkmsg.MaxOutputLines+1)}, "carries 65537 lines of output, at most 65536"},
			"a long text":    {1, linkmsg.TOutput, one(linkmsg.OutputLine{Text: long}), "a text of 262145 bytes"},
			"a long name":    {1, linkmsg.TOutput, one(linkmsg.OutputLine{Name: long}), "a name of 262145"},
			"a long source":  {1, linkmsg.TOutput, one(linkmsg.OutputLine{Source: long}), "a source of 262145"},
			"no process":     {1, linkmsg.TOutput, one(linkmsg.OutputLine{Pid: -1}), "of process -1"},
			"a long address": {1, linkmsg.TOutput, linkmsg.Output{Job: job, Address: long}, "the address of a node has 262145 bytes"},
			"much":           {1, linkmsg.TOutput, linkmsg.Output{Job: job, Lines: []linkmsg.OutputLine{{Text: strings.Repeat("x", linkmsg.MaxOutput)}}}, "at most 8388608 are allowed"},
			"no body":        {1, linkmsg.TOutput, "x", "message type 232"},
			"no end":         {1, linkmsg.TOutputEnd, "x", "message type 233"},
			"another's end":  {2, linkmsg.TOutputEnd, linkmsg.OutputEnd{Job: job, Over: true}, "node 3 says that the driver of job 01000000 leaves, and that driver is on node 1"},
			"other messages": {1, linkmsg.TObjectNews, nil, "not about output"},
		} {
			peer, err := c.Control(x.to)
			if err != nil {
				t.Fatal(err)
			}
			if err := peer.Call(context.Background(), x.t, x.body, nil); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s: got %v, want %q", what, err, x.want)
			}
		}
		if len(a.refused) != 9 || len(b.refused) != 1 || len(b.ended) != 0 || len(a.texts()) != 0 {
			t.Errorf("%d and %d are noted as refused: %v; ended: %v", len(a.refused), len(b.refused), errors.Join(a.refused...), b.ended)
		}
	})
}

func TestForget_DriverIsGone_NothingIsSentAnyMore(t *testing.T) {
	play(t, 2, func(w *world) {
		a, b := w.nodes[1], w.nodes[2]
		a.drives()
		b.Runs(job, 1)
		sink := b.Open(job)
		a.texts()
		a.Forget(job)
		for range 3 {
			sink.Add(lines("for nobody"))
			if got := a.texts(); len(got) != 0 {
				t.Errorf("got %q", got)
			}
		}
		if n := a.messages(); n != 2 {
			t.Errorf("%d messages were sent; after the first answer that nobody wants them there should be no more", n)
		}
	})
}

// A driver that does not want output waits for the files of its workers, and for no other node.
func TestFinish_DriverDoesNotWantOutput_OtherNodesAreNotAsked(t *testing.T) {
	play(t, 2, func(w *world) {
		a, b := w.nodes[1], w.nodes[2]
		a.Drives(job, nil, a.show)
		b.Runs(job, 1)
		sink := b.Open(job)
		defer sink.Close()
		synctest.Wait()
		began := time.Now()
		a.Finish(job, true, nil)
		synctest.Wait()
		if took := time.Since(began); took > 0 || len(b.ended) != 0 || a.Sizes()["log_drivers"] != 0 {
			t.Errorf("after %v: ended %v, %v", took, b.ended, a.Sizes())
		}
	})
}
