package headlink

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// ask is a request that has no answer yet.
type ask struct {
	n       uint64
	op      linkmsg.Op
	changes bool // it changes something
	body    msgpack.RawMessage
	done    func(msgpack.RawMessage, error)
	sent    bool // on any connection; the client's lock guards it
}

// ended returns the error for a request that gets no answer.
func (a *ask) ended(why error) error {
	if a.changes && a.sent {
		return fmt.Errorf("%w: %w", record.ErrMayHaveBeenApplied, why)
	}
	return why
}

// ask sends a request, now or when there is a connection. Done is called once, unless drop comes first.
func (c *Client) ask(op linkmsg.Op, changes bool, question any, done func(msgpack.RawMessage, error)) *ask {
	body := linkmsg.Nothing
	var err error
	if question != nil {
		body, err = linkmsg.Encode(fmt.Sprintf("a request %q", op), question)
	}
	a := &ask{op: op, changes: changes, body: body, done: done}
	if err == nil {
		err = c.begin(a)
	}
	if err != nil {
		done(nil, err)
	}
	return a
}

// begin enters a request in the table and sends it if it can be sent.
func (c *Client) begin(a *ask) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fault.New(fault.Closed, "the daemon is ending")
	}
	c.lastAsk++
	a.n = c.lastAsk
	c.asks[a.n] = a
	c.send(a)
	return nil
}

// send sends a request if there is a connection; mu held.
func (c *Client) send(a *ask) {
	if c.peer == nil {
		return
	}
	p, again := c.peer, a.sent
	a.sent = true
	body, err := linkmsg.Encode("a request", &linkmsg.Ask{N: a.n, Below: c.answeredBelow(), Again: again, Op: a.op, Body: a.body})
	if err != nil {
		go c.finish(a.n, nil, err)
		return
	}
	p.Go(linkmsg.TAsk, body, func(m *wire.Message, err error) { c.answered(a.n, p, m, err) })
}

// answeredBelow returns a number below which no request waits any more; mu held.
func (c *Client) answeredBelow() uint64 {
	for c.firstAsk < c.lastAsk && c.asks[c.firstAsk] == nil {
		c.firstAsk++
	}
	return c.firstAsk
}

// askAll sends all requests again that have no answer, oldest first; mu held.
func (c *Client) askAll() {
	for _, n := range slices.Sorted(maps.Keys(c.asks)) {
		c.send(c.asks[n])
	}
}

// answered takes an answer that came on a connection, or the reason why none will come on it.
func (c *Client) answered(n uint64, p *wire.Peer, m *wire.Message, err error) {
	if err != nil {
		if p.Err() == nil { // else the connection is gone, and the request goes by the next one
			c.finish(n, nil, err)
		}
		return
	}
	c.hears(p)
	var answer linkmsg.Answer
	err = linkmsg.Decode("an answer of the head", m.Body, wire.MaxControl, &answer)
	if err == nil {
		err = answer.Err.Err()
	}
	c.finish(n, answer.Body, err)
}

// finish ends a request, unless it has ended.
func (c *Client) finish(n uint64, body msgpack.RawMessage, err error) {
	if a := c.take(n); a != nil {
		a.done(body, err)
	}
}

// take takes a request out of the table, nil when it has ended.
func (c *Client) take(n uint64) *ask {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.asks[n]
	delete(c.asks, n)
	return a
}

// drop ends a request whose answer nobody waits for any more. It reports false when the request has ended. The error
// says what is known then, if why is the reason.
func (c *Client) drop(a *ask, why error) (dropped bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asks[a.n] != a {
		return false, nil
	}
	delete(c.asks, a.n)
	if c.peer != nil {
		if a.sent {
			if b, err := linkmsg.Encode("a number", &linkmsg.Number{N: a.n}); err == nil {
				_ = c.peer.Push(linkmsg.TDrop, b)
			}
		}
		return true, a.ended(why)
	}
	away := time.Since(c.heard).Round(time.Millisecond)
	unreachable := fmt.Errorf("%w (%w)", fault.New(fault.HeadUnavailable, "the head of the cluster has not been reachable for %v. Look whether the head's process runs and can be reached from this machine, and try again", away), why)
	if c.refusal != nil {
		unreachable = fmt.Errorf("%w (%w)", fault.New(fault.HeadUnavailable, "the head of the cluster does not work with this node: %v", c.refusal), why)
	}
	return true, a.ended(unreachable)
}

// call sends a request and waits for its answer until the context ends. The answer may be nil.
func (c *Client) call(ctx context.Context, op linkmsg.Op, changes bool, question, answer any) error {
	type reply struct {
		body msgpack.RawMessage
		err  error
	}
	got := make(chan reply, 1)
	a := c.ask(op, changes, question, func(b msgpack.RawMessage, err error) { got <- reply{b, err} })
	var r reply
	select {
	case r = <-got:
	case <-ctx.Done():
		if dropped, err := c.drop(a, ctx.Err()); dropped {
			return err
		}
		r = <-got // it is being answered
	}
	if r.err != nil || answer == nil {
		return r.err
	}
	return linkmsg.Decode(fmt.Sprintf("the head's answer to %q", op), r.body, wire.MaxControl, answer)
}
