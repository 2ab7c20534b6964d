package raftstate

import (
	"context"
	"errors"

	"github.com/eagleray/eagleray/core/record"
)

// NewRequest returns an id for a command that the caller wants to be able to send again until it gets an answer other than
// record.ErrMayHaveBeenApplied. Then its result is forgotten.
func (n *Node) NewRequest() RequestID {
	return RequestID{Client: n.client, Seq: n.requests.Begin()}
}

// named gives a command what makes it apply once: the name that a sender far away has given to its request, else a new
// one. The caller calls ended with the command's error.
func (n *Node) named(ctx context.Context, c Command) (_ Command, ended func(error)) {
	ended = func(error) {}
	again := c.Request != (RequestID{})
	if !again {
		if r, ok := record.RequestIn(ctx); ok {
			c.Request, c.Answered = RequestID{Client: r.Client, Seq: r.Number}, min(r.Answered, r.Number)
			return c, ended
		}
		c.Seen = max(n.raft.AppliedIndex(), 1) // the first entry of a log is no command
		c.Request = n.NewRequest()
	}
	if c.Request.Client != n.client {
		return c, ended
	}
	c.Answered = n.requests.Answered(c.Request.Seq)
	return c, func(err error) {
		if !again || !errors.Is(err, record.ErrMayHaveBeenApplied) {
			n.requests.Finished(c.Request.Seq)
		}
	}
}
