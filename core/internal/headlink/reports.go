package headlink

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// report puts a report into the outbox. It never waits.
func (c *Client) report(kind linkmsg.Kind, body any) {
	b, err := linkmsg.Encode(fmt.Sprintf("a report %q", kind), body)
	if told, ok := body.(*linkmsg.InstanceTold); ok && (err != nil || len(b) > maxReport) {
		short := *told // the actor's end matters more than all that can be said about it
		short.Cause.Error = nil
		short.Cause.Message = cut(short.Cause.Message)
		short.Message = cut(short.Message)
		b, err = linkmsg.Encode(fmt.Sprintf("a report %q", kind), &short)
	}
	if err != nil {
		c.o.Log.Error("a report is not sent", "error", err)
		return
	}
	c.enqueue(kind, b)
}

// cutText is how much is kept of a text that is too long, in bytes.
const cutText = 64 << 10

func cut(text string) string {
	if len(text) <= cutText {
		return text
	}
	return text[:cutText] + "… (the rest of the text was too long to be sent)"
}

func (c *Client) enqueue(kind linkmsg.Kind, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	b, err := linkmsg.Encode("a report", &linkmsg.Told{N: c.reports.first + uint64(len(c.reports.items)), Kind: kind, Body: body})
	if err != nil {
		c.o.Log.Error("a report is not sent", "error", err)
		return
	}
	c.reports.add(b)
	c.pump()
}

// pump sends the reports that may be sent; mu held.
func (c *Client) pump() {
	for c.peer != nil {
		_, b, ok := c.reports.next()
		if !ok {
			return
		}
		_ = c.peer.Push(linkmsg.TReport, rawBody(b)) // a connection that has failed is noticed by its end
	}
}

// reported takes the head's acknowledgement.
func (c *Client) reported(m *wire.Message) error {
	var n linkmsg.Number
	if err := linkmsg.Decode("an acknowledgement", m.Body, linkmsg.MaxHello, &n); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer != m.Peer() {
		return nil // of a connection that was replaced
	}
	if err := c.reports.acknowledged(n.N); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	c.pump()
	return nil
}

func (c *Client) instance(kind linkmsg.Kind, i record.Instance, cause record.Cause, message string) {
	c.report(kind, &linkmsg.InstanceTold{Instance: i, Cause: cause, Message: message})
}

// ActorPlaced says which node starts the instance.
func (c *Client) ActorPlaced(i record.Instance) {
	c.instance(linkmsg.ActorPlaced, i, record.Cause{}, "")
}

// ActorStarted says that the instance takes calls.
func (c *Client) ActorStarted(i record.Instance) {
	c.instance(linkmsg.ActorStarted, i, record.Cause{}, "")
}

// tellKept says which incarnations this node has. An order of the head before to stop one may have been lost with that head.
func (c *Client) tellKept() {
	for _, i := range c.o.Node.Actors() {
		c.instance(linkmsg.ActorKept, i, record.Cause{}, "")
	}
}

// ActorStartFailed says that the actor cannot start, for good.
func (c *Client) ActorStartFailed(i record.Instance, cause record.Cause) {
	c.instance(linkmsg.ActorStartFailed, i, cause, "")
}

// ActorWorkerDied says that the instance's process ended against its will.
func (c *Client) ActorWorkerDied(i record.Instance, cause record.Cause) {
	c.instance(linkmsg.ActorWorkerDied, i, cause, "")
}

// ActorExited says that the instance ended on purpose.
func (c *Client) ActorExited(i record.Instance, cause record.Cause) {
	c.instance(linkmsg.ActorExited, i, cause, "")
}

// ActorRefused says that this node does not start the instance as it was told to, and what it has free.
func (c *Client) ActorRefused(i record.Instance, ticket uint64, s resource.Stock) {
	c.Settled(ticket, 0, s)
	c.report(linkmsg.ActorRefused, &linkmsg.InstanceTold{Instance: i, Ticket: ticket})
}

// ActorInfeasible says that no node could ever take the instance.
func (c *Client) ActorInfeasible(i record.Instance, message string) {
	c.instance(linkmsg.ActorInfeasible, i, record.Cause{}, message)
}

// ReleaseActor says that no handle to the actor is left.
func (c *Client) ReleaseActor(id ids.Actor) {
	c.report(linkmsg.ActorReleased, &linkmsg.ActorRef{ID: id})
}

// DropCode says that an actor whose class has begun to arrive will not be registered.
func (c *Client) DropCode(id ids.Actor) {
	c.report(linkmsg.ClassDropped, &linkmsg.ActorRef{ID: id})
}

// OwnerDied says that a process which has created actors is gone.
func (c *Client) OwnerDied(o ids.Owner) { c.report(linkmsg.OwnerDied, &linkmsg.Owner{ID: o}) }

// EndJob says that a job is over.
func (c *Client) EndJob(id ids.Job, s record.JobState, message string) {
	c.report(linkmsg.JobEnded, &linkmsg.JobEnd{ID: id, State: s, Message: cut(message)})
}
