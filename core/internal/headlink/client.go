package headlink

import (
	"cmp"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Node is what the head tells a node to. Its methods must not wait. They are called one after the other and in order,
// and may make reports.
type Node interface {
	// PlaceActor starts an incarnation, or refuses it. The ticket names the order.
	PlaceActor(a record.Actor, ticket uint64)
	// WithdrawActor asks the node to refuse an incarnation that still waits there.
	WithdrawActor(i record.Instance, ticket uint64)
	// StopActor ends an incarnation: at once, or after the calls that have arrived.
	StopActor(i record.Instance, drain bool)
	// EndActor ends an incarnation at once, and reports ActorExited when its process is gone, also if there is none.
	EndActor(i record.Instance)
	// Actors returns the incarnations that the node has, with the node and their workers.
	Actors() []record.Instance
	Bundler
	// NodeIs and JobIs bring a record as it is now, again after a reconnection.
	NodeIs(n record.Node)
	JobIs(j record.Job)
}

// Promise is told until when, in boot time, the cluster counts on this node. *promise.Page has these methods.
type Promise interface {
	Extend(until time.Duration)
	Revoke() // for good
}

// ClientOptions configure a Client.
type ClientOptions struct {
	Number uint32   // of this node
	ID     ids.Node // the node's long name
	Node   Node
	Placed Placed // nil: the node has nothing placed elsewhere
	// Wire is the version of package wire that the node's processes speak; 0: that of this build.
	Wire int
	Now  func() time.Duration // the boot time of this machine; nil: the node sends no heartbeats
	// Promise is told until when the cluster counts on this node; nil: nobody wants to know.
	Promise Promise
	Log     *slog.Logger // nil: slog's default
}

// Client is a head that may be another process, as a daemon sees it.
type Client struct {
	o    ClientOptions
	name [16]byte // of this process

	// orders is held while an order is carried out. It is taken before mu.
	orders sync.Mutex

	mu       sync.Mutex
	closed   bool
	dials    uint64     // how many connections there were
	dialed   *wire.Peer // the newest connection
	peer     *wire.Peer // the same, once the head has welcomed this node; else nil
	heard    time.Time  // when the head has last said anything
	refusal  error      // why the head did not welcome this node
	boot     [16]byte   // of the head's process that was talked to last
	taken    uint64     // the last order of that process that was carried out
	reports  outbox
	lastAsk  uint64
	firstAsk uint64 // no request with a lower number waits for its answer
	asks     map[uint64]*ask
	placing  placing
	beats    beats
}

// NewClient returns a Client without a connection. Requests wait for one.
func NewClient(o ClientOptions) *Client {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Client{o: o, heard: time.Now(), reports: newOutbox(), asks: map[uint64]*ask{}, placing: placing{wants: map[wanted]msgpack.RawMessage{}}}
	_, _ = rand.Read(c.name[:]) // it never fails
	return c
}

// Connected begins a conversation on a new connection to the head, in place of the one before. The peer's
// handler has to pass its messages to Handle.
func (c *Client) Connected(p *wire.Peer) {
	h, before, err := c.greet(p)
	if before != nil {
		before.Close()
	}
	if err != nil {
		c.o.Log.Error("a connection to the head is not used", "error", err)
		p.Close()
		return
	}
	go func() {
		<-p.Done()
		c.disconnected(p)
	}()
	p.Go(linkmsg.THello, h, func(m *wire.Message, err error) { c.welcomed(p, m, err) })
}

// greet notes the new connection. It returns the hello, and the connection before.
func (c *Client) greet(p *wire.Peer) (body any, before *wire.Peer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, fault.New(fault.Closed, "the daemon is ending")
	}
	before = c.dialed
	c.lose()
	c.dials++
	c.dialed = p
	h, err := linkmsg.Encode("the hello", &linkmsg.Hello{
		Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Node: c.o.Number, ID: c.o.ID, Client: c.name, Wire: cmp.Or(c.o.Wire, wire.Version),
		First: c.reports.first, Connection: c.dials, Boot: c.boot, Orders: c.taken,
	})
	return h, before, err
}

// lose forgets the present connection; mu held.
func (c *Client) lose() {
	c.peer, c.dialed = nil, nil
}

func (c *Client) disconnected(p *wire.Peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dialed == p {
		c.lose()
	}
}

// hears notes that the head has said something on a connection.
func (c *Client) hears(p *wire.Peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer == p {
		c.heard = time.Now()
	}
}

// Silence returns how long ago the head has last said anything, or the Client was made. A connection that is gone may be noticed later.
func (c *Client) Silence() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.heard)
}

// talksOn reports whether p is the present connection.
func (c *Client) talksOn(p *wire.Peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer == p
}

// welcomed takes the head's answer to the hello.
func (c *Client) welcomed(p *wire.Peer, m *wire.Message, err error) {
	var w linkmsg.Welcome
	if err == nil {
		err = linkmsg.Decode("the head's welcome", m.Body, linkmsg.MaxHello, &w)
	}
	if err == nil {
		err = linkmsg.CheckVersion("the head", w.Version, w.MinVersion)
	}
	another := false
	if err == nil {
		another, err = c.join(p, &w)
	}
	if another {
		c.tellKept()
		c.tellBundles()
	}
	if err == nil {
		return
	}
	if p.Err() == nil { // else the connection ended first
		c.o.Log.Error("the head does not work with this node", "error", err)
		c.refused(p, err)
	}
	p.Close()
}

func (c *Client) refused(p *wire.Peer, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dialed == p {
		c.refusal = why
	}
}

// join goes on with what the head does not have yet. It reports whether the head is another process than the one before.
func (c *Client) join(p *wire.Peer, w *linkmsg.Welcome) (another bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dialed != p {
		return false, errors.New("there is a newer connection")
	}
	another = w.Boot != c.boot
	if !another {
		if err := c.reports.resume(w.Reports); err != nil {
			return false, fault.New(fault.Internal, "the head's welcome, reports: %v", err)
		}
	} else {
		if w.Orders == 0 {
			return false, fault.New(fault.BadRequest, "the head's welcome names no order")
		}
		c.reports.restart()
		c.boot, c.taken = w.Boot, w.Orders-1
	}
	c.peer, c.refusal, c.heard = p, nil, time.Now()
	c.askAll()
	c.pump()
	c.tellAll()
	return another, c.beat(w.DeadMs)
}

// Close ends the conversation. Requests that wait end with an error, and reports that are not acknowledged are dropped.
func (c *Client) Close() {
	p, left := c.close()
	if p != nil {
		p.Close()
	}
	for _, a := range left {
		a.done(nil, a.ended(fault.New(fault.Closed, "the daemon is ending")))
	}
}

func (c *Client) close() (p *wire.Peer, left map[uint64]*ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, left = c.dialed, c.asks
	c.closed, c.asks, c.reports = true, map[uint64]*ask{}, newOutbox()
	if t := c.placing.timer; t != nil {
		t.Stop()
	}
	c.beats.end()
	c.lose()
	return p, left
}
