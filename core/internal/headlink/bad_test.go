package headlink_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// hello is one that is let in.
func hello() linkmsg.Hello {
	return linkmsg.Hello{Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Node: nodeNumber, ID: nodeID, Client: [16]byte{1}, First: 1, Wire: wire.Version}
}

func encoded(t testing.TB, v any) msgpack.RawMessage {
	t.Helper()
	b, err := linkmsg.Encode("a test's body", v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stranger returns the end of a connection to the head on which the test says what it likes.
func (w *world) stranger() *wire.Peer {
	here, there := net.Pipe()
	at := wire.NewPeer(there, func(m *wire.Message) { w.server.Handle(m) }, nil)
	w.server.Connected(nodeNumber, at)
	at.Start()
	p := wire.NewPeer(here, func(*wire.Message) {}, nil)
	p.Start()
	w.t.Cleanup(p.Close)
	return p
}

// A node whose hello does not fit is refused, with the reason.
func TestHello_DoesNotFit_IsRefusedWithTheReason(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	for want, change := range map[string]func(h *linkmsg.Hello){
		"node 7 speaks version 99 of the messages between heads and nodes and understands versions from 98 on; this process speaks version " + fmt.Sprint(linkmsg.Version): func(h *linkmsg.Hello) { h.Version, h.MinVersion = 99, 98 },
		"the connection is that of node 7, and the hello names node 8": func(h *linkmsg.Hello) { h.Node = 8 },
		"does not say which version its processes speak":               func(h *linkmsg.Hello) { h.Wire = 0 },
		"names no report": func(h *linkmsg.Hello) { h.First = 0 },
		"at most 4096":    func(h *linkmsg.Hello) { h.ID = ids.Node{} },
	} {
		h := hello()
		change(&h)
		var body any = encoded(t, &h)
		if want == "at most 4096" {
			body = make([]byte, linkmsg.MaxHello)
		}
		var r linkmsg.Welcome
		err := w.stranger().Call(w.ctx, linkmsg.THello, body, &r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	p := w.stranger()
	h := hello()
	if err := p.Call(w.ctx, linkmsg.THello, encoded(t, &h), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Call(w.ctx, linkmsg.THello, encoded(t, &h), nil); err == nil || !strings.Contains(err.Error(), "again") {
		t.Errorf("a second hello: %v", err)
	}
}

// A head of another version is not worked with, and who asks it something is told both versions.
func TestClient_HeadOfAnotherVersion_SaysBoth(t *testing.T) {
	c := headlink.NewClient(headlink.ClientOptions{Number: nodeNumber, ID: nodeID, Node: newPlayedNode(), Log: quiet()})
	defer c.Close()
	here, there := net.Pipe()
	at := wire.NewPeer(there, func(m *wire.Message) {
		_ = m.Reply(encoded(t, &linkmsg.Welcome{Version: 99, MinVersion: 98, Boot: [16]byte{1}, Orders: 1}))
	}, nil)
	at.Start()
	p := wire.NewPeer(here, func(m *wire.Message) { c.Handle(m) }, nil)
	c.Connected(p)
	p.Start()
	<-p.Done()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Nodes(ctx)
	if fault.CodeOf(err) != fault.HeadUnavailable || !strings.Contains(err.Error(), "the head speaks version 99") || !strings.Contains(err.Error(), fmt.Sprintf("this process speaks version %d", linkmsg.Version)) {
		t.Errorf("got %v", err)
	}
}

// What breaks the rules of the conversation ends the connection, and the head goes on.
func TestServer_RulesAreBroken_ConnectionEnds(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	told := func(n uint64) any {
		return encoded(t, &linkmsg.Told{N: n, Kind: linkmsg.OwnerDied, Body: linkmsg.Nothing})
	}
	for name, say := range map[string]func(p *wire.Peer){
		"a report before the hello": nil,
		"a gap between reports":     func(p *wire.Peer) { _ = p.Push(linkmsg.TReport, told(2)) },
		"a report of the last number": func(p *wire.Peer) {
			_ = p.Push(linkmsg.TReport, told(1<<64-1))
		},
		"orders that were not given": func(p *wire.Peer) { _ = p.Push(linkmsg.TOrderTaken, encoded(t, &linkmsg.Number{N: 5})) },
		"a request that is text":     func(p *wire.Peer) { _ = p.Push(linkmsg.TAsk, "text") },
		"an oversized report": func(p *wire.Peer) {
			_ = p.Push(linkmsg.TReport, encoded(t, &linkmsg.Told{N: 1, Body: encoded(t, make([]byte, 9<<20))}))
		},
		"what only the head says": func(p *wire.Peer) { _ = p.Push(linkmsg.TOrder, told(1)) },
	} {
		p := w.stranger()
		if say == nil {
			_ = p.Push(linkmsg.TReport, told(1))
		} else {
			h := hello()
			if err := p.Call(w.ctx, linkmsg.THello, encoded(t, &h), nil); err != nil {
				t.Fatal(err)
			}
			say(p)
		}
		select {
		case <-p.Done():
		case <-w.ctx.Done():
			t.Fatalf("%s: the connection lives on", name)
		}
	}
	w.connect()
	if _, err := w.client.Nodes(w.ctx); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// A report of a kind that the head does not know, or that cannot be read, is acknowledged, and those after it are made.
func TestServer_ReportCannotBeRead_NextOnesAreMade(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	acked := make(chan uint64, 100)
	here, there := net.Pipe()
	at := wire.NewPeer(there, func(m *wire.Message) { w.server.Handle(m) }, nil)
	w.server.Connected(nodeNumber, at)
	at.Start()
	p := wire.NewPeer(here, func(m *wire.Message) {
		var n linkmsg.Number
		if m.Type == linkmsg.TReported && linkmsg.Decode("an acknowledgement", m.Body, 100, &n) == nil {
			acked <- n.N
		}
	}, nil)
	p.Start()
	defer p.Close()
	h := hello()
	h.First = 10
	if err := p.Call(w.ctx, linkmsg.THello, encoded(t, &h), nil); err != nil {
		t.Fatal(err)
	}
	kinds := []linkmsg.Kind{"later", linkmsg.JobEnded, linkmsg.BundlesPrepared, linkmsg.BundlesKept, linkmsg.OwnerDied}
	for i, kind := range kinds {
		_ = p.Push(linkmsg.TReport, encoded(t, &linkmsg.Told{N: 10 + uint64(i), Kind: kind, Body: encoded(t, "text")}))
	}
	for {
		select {
		case n := <-acked:
			if n == 9+uint64(len(kinds)) {
				return
			}
		case <-w.ctx.Done():
			t.Fatal("the reports are not acknowledged")
		}
	}
}

// A node reports on the end of its own processes. A report that names none, or one of another node, ends no actor.
func TestServer_ProcessOfAnotherNodeIsReportedDead_NobodyIsEnded(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	w.connect()
	far, near := actor(1), actor(2)
	far.Owner = ids.Owner{3: 9, 4: 1}
	for _, a := range []record.Actor{far, near} {
		if err := w.client.CreateActor(w.ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []ids.Owner{{}, far.Owner, near.Owner} {
		w.client.OwnerDied(o)
	}
	w.settle()
	for want, a := range map[bool]record.Actor{true: far, false: near} {
		if now, err := w.client.Actor(w.ctx, a.ID); err != nil || now.Live() != want {
			t.Errorf("the actor of %s lives: %v, must be %v; %v", a.Owner, now.Live(), want, err)
		}
	}
}

// Requests that cannot be carried out are answered with the reason, and do not end the connection.
func TestServer_RequestIsWrong_IsAnswered(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	p := w.stranger()
	h := hello()
	if err := p.Call(w.ctx, linkmsg.THello, encoded(t, &h), nil); err != nil {
		t.Fatal(err)
	}
	for want, q := range map[string]linkmsg.Ask{
		`does not know the request "later"`: {N: 1, Op: "later", Body: linkmsg.Nothing},
		`a request "kill"`:                  {N: 2, Op: linkmsg.OpKill, Body: encoded(t, "text")},
		"a question for an actor":           {N: 3, Op: linkmsg.OpResolve, Body: encoded(t, "text")},
		"without a driver":                  {N: 4, Op: linkmsg.OpStartJob, Body: encoded(t, &record.Job{})},
		"registers as 09":                   {N: 5, Op: linkmsg.OpRegister, Body: encoded(t, &record.Node{ID: ids.Node{9}})},
		"registers as node 3":               {N: 6, Op: linkmsg.OpRegister, Body: encoded(t, &record.Node{ID: nodeID, Number: 3})},
		`"/tmp/any.sock" is a path`:         {N: 7, Op: linkmsg.OpRegister, Body: encoded(t, &record.Node{ID: nodeID, Number: nodeNumber, Links: []string{"h:1", "/tmp/any.sock"}})},
		"a question for a placement group":  {N: 9, Op: linkmsg.OpAwaitGroup, Body: encoded(t, "text")},
		`a request "create_group"`:          {N: 10, Op: linkmsg.OpCreateGroup, Body: encoded(t, "text")},
		"has no id":                         {N: 11, Op: linkmsg.OpCreateGroup, Body: encoded(t, &record.Group{})},
		"has 0 bundles":                     {N: 12, Op: linkmsg.OpCreateGroup, Body: encoded(t, &record.Group{ID: ids.Group{1}})},
		`a request "remove_group"`:          {N: 13, Op: linkmsg.OpRemoveGroup, Body: encoded(t, "text")},
		`a request "group"`:                 {N: 14, Op: linkmsg.OpGroup, Body: encoded(t, "text")},
		"with 9 addresses":                  {N: 8, Op: linkmsg.OpRegister, Body: encoded(t, &record.Node{ID: nodeID, Number: nodeNumber, Links: make([]string, 9)})},
	} {
		m := make(chan linkmsg.Answer, 1)
		p.Go(linkmsg.TAsk, encoded(t, &q), func(r *wire.Message, err error) {
			var a linkmsg.Answer
			if err == nil {
				err = linkmsg.Decode("an answer", r.Body, wire.MaxControl, &a)
			}
			if err != nil {
				t.Error(err)
			}
			m <- a
		})
		if err := (<-m).Err.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The name of a node and its number belong together: whoever has one of them and not the other is neither let in nor registered.
func TestServer_NameOrNumberOfAnotherNode_IsRefused(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	other := ids.Node{0xee}
	p := w.stranger() // before the head knows the other node
	h := hello()
	h.ID = other
	if err := p.Call(w.ctx, linkmsg.THello, encoded(t, &h), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.state.RegisterNode(w.ctx, record.Node{ID: other, Number: 3}); err != nil {
		t.Fatal(err)
	}
	const want = "the cluster knows"
	q := linkmsg.Ask{N: 1, Op: linkmsg.OpRegister, Body: encoded(t, &record.Node{ID: other, Number: nodeNumber})}
	var a linkmsg.Answer
	if err := p.Call(w.ctx, linkmsg.TAsk, encoded(t, &q), &a); err != nil || a.Err.Err() == nil || !strings.Contains(a.Err.Err().Error(), want) {
		t.Errorf("node %d registers under the name of node 3: %v, %v", nodeNumber, err, a.Err.Err())
	}
	until(t, "a hello with the name of node 3 is refused", func() bool {
		err := w.stranger().Call(w.ctx, linkmsg.THello, encoded(t, &h), nil)
		return err != nil && strings.Contains(err.Error(), want)
	})
	if err := w.state.RegisterNode(w.ctx, record.Node{ID: nodeID, Number: nodeNumber}); err != nil {
		t.Fatal(err)
	}
	h.ID = ids.Node{0xdd}
	until(t, "a hello with another name than that of node 7 is refused", func() bool {
		err := w.stranger().Call(w.ctx, linkmsg.THello, encoded(t, &h), nil)
		return err != nil && strings.Contains(err.Error(), want)
	})
	h.ID = nodeID
	if err := w.stranger().Call(w.ctx, linkmsg.THello, encoded(t, &h), nil); err != nil {
		t.Errorf("node 7 itself: %v", err)
	}
}

// What does not fit one message is an error at once, and a cause of death that is too long is shortened.
func TestClient_TooLargeForAMessage_IsRefusedOrShortened(t *testing.T) {
	w := far(t)
	large := make([]byte, linkmsg.MaxBody)
	if _, err := w.client.PutKV(w.ctx, "ns", "k", large, true); fault.CodeOf(err) != fault.BadRequest || errors.Is(err, record.ErrMayHaveBeenApplied) {
		t.Errorf("a value that is too large: %v", err)
	}
	if err := w.client.CreateActor(w.ctx, actor(1)); err != nil {
		t.Fatal(err)
	}
	w.client.ActorStartFailed(instance(1, 1), record.Cause{Reason: record.StartFailed, Message: strings.Repeat("x", 1<<20), Error: large})
	w.settle()
	a, err := w.client.Actor(w.ctx, ids.Actor{1})
	if err != nil || a.State != record.ActorDead || a.Cause.Reason != record.StartFailed || len(a.Cause.Message) > 100<<10 || a.Cause.Error != nil {
		t.Errorf("the actor is %s with a message of %d bytes, %v", a.State, len(a.Cause.Message), err)
	}
}

// FuzzHandle gives both ends messages with any body: they answer, ignore them or end the connection, and do not crash.
func FuzzHandle(f *testing.F) {
	h := hello()
	f.Add(uint16(linkmsg.THello), true, []byte(encoded(f, &h)))
	f.Add(uint16(linkmsg.TAsk), true, []byte(encoded(f, &linkmsg.Ask{N: 1, Op: linkmsg.OpNodes, Body: linkmsg.Nothing})))
	f.Add(uint16(linkmsg.TReport), true, []byte(encoded(f, &linkmsg.Told{N: 1, Kind: linkmsg.ActorPlaced, Body: encoded(f, &linkmsg.InstanceTold{})})))
	f.Add(uint16(linkmsg.TOrder), false, []byte(encoded(f, &linkmsg.Told{N: 1, Kind: linkmsg.StartActor, Body: encoded(f, &linkmsg.Start{})})))
	f.Add(uint16(linkmsg.TNews), false, []byte(encoded(f, &linkmsg.News{Nodes: []record.Node{{}}})))
	f.Add(uint16(linkmsg.TStock), true, []byte(encoded(f, &linkmsg.Stock{Totals: map[string]int64{"CPU": 1}, Devices: map[string][]linkmsg.Device{"GPU": {{Bytes: 1, Free: 1}}}})))
	f.Add(uint16(linkmsg.TWant), true, []byte(encoded(f, &linkmsg.Want{N: 1, Needs: []map[string]int64{{"CPU": 1}}})))
	f.Add(uint16(linkmsg.TSettled), true, []byte(encoded(f, &linkmsg.Settled{Ticket: 1, Stock: &linkmsg.Stock{}})))
	f.Add(uint16(linkmsg.TStock), true, []byte(encoded(f, &linkmsg.Stock{Totals: map[string]int64{"CPU": 1}, Bundles: []linkmsg.Bundle{{Group: "a", Totals: map[string]int64{"CPU": 1}, Devices: map[string][]linkmsg.Device{"GPU": {{Free: 1, Most: 1}}}}}})))
	f.Add(uint16(linkmsg.TAsk), true, []byte(encoded(f, &linkmsg.Ask{N: 1, Op: linkmsg.OpAwaitGroup, Body: encoded(f, &linkmsg.AwaitGroup{PatienceMs: 1})})))
	f.Add(uint16(linkmsg.TReport), true, []byte(encoded(f, &linkmsg.Told{N: 1, Kind: linkmsg.BundlesKept, Body: encoded(f, &linkmsg.KeptBundles{List: []linkmsg.KeptBundle{{Open: true}}})})))
	f.Add(uint16(linkmsg.TOrder), false, []byte(encoded(f, &linkmsg.Told{N: 1, Kind: linkmsg.PrepareBundles, Body: encoded(f, &linkmsg.Bundles{Index: []int{0}, Needs: []map[string]int64{{"CPU": 1}}})})))
	f.Add(uint16(linkmsg.TOffer), false, []byte(encoded(f, &linkmsg.Offer{N: 1, Node: 2})))
	deep, _ := hex.DecodeString(strings.Repeat("91", 60) + "c0")
	f.Add(uint16(linkmsg.TDrop), true, deep)
	w := newWorld(f, true)
	w.startHead(true)
	f.Fuzz(func(t *testing.T, kind uint16, atHead bool, body []byte) {
		if wire.Check(body, wire.MaxValues) != nil || len(body) == 0 {
			return // a wire.Peer does not read it
		}
		c := headlink.NewClient(headlink.ClientOptions{Number: nodeNumber, ID: nodeID, Node: newPlayedNode(), Log: quiet()})
		defer c.Close()
		here, there := net.Pipe()
		server := wire.NewPeer(there, func(m *wire.Message) { w.server.Handle(m) }, nil)
		w.server.Connected(nodeNumber, server)
		server.Start()
		client := wire.NewPeer(here, func(m *wire.Message) { c.Handle(m) }, nil)
		c.Connected(client)
		client.Start()
		from := server
		if atHead {
			from = client
		}
		_ = from.Push(wire.Type(kind), msgpack.RawMessage(body))
		_ = from.Flush(w.ctx)
		client.Close()
		<-server.Done()
	})
}
