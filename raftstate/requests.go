package raftstate

import (
	"context"
	"errors"
	"sync"

	"github.com/eagleray/eagleray/core/record"
)

// requests numbers a member's own requests, and knows below which number all are answered. Its user sends that along, so
// that the state can forget their results.
type requests struct {
	mu    sync.Mutex
	last  uint64              // the newest request's number
	low   uint64              // the requests up to this number have ended
	ended map[uint64]struct{} // the requests above low that have ended
}

// begin returns the number of a new request.
func (r *requests) begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	if r.last-r.low > uint64(keptRequests.perClient) { // the state keeps no more anyway
		r.end(r.low + 1)
	}
	return r.last
}

// end notes that nobody will send the request again; the lock is held.
func (r *requests) end(seq uint64) {
	if seq <= r.low {
		return
	}
	if seq > r.low+1 {
		if r.ended == nil {
			r.ended = map[uint64]struct{}{}
		}
		r.ended[seq] = struct{}{}
		return
	}
	for r.low++; ; r.low++ {
		if _, ended := r.ended[r.low+1]; !ended {
			return
		}
		delete(r.ended, r.low+1)
	}
}

// finished is end for a caller without the lock.
func (r *requests) finished(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(seq)
}

// answered returns a number below which all requests have ended, at most that of the request itself.
func (r *requests) answered(seq uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(r.low+1, seq)
}

// NewRequest returns an id for a command that the caller wants to be able to send again until it gets an answer other than
// record.ErrMayHaveBeenApplied. Then its result is forgotten.
func (n *Node) NewRequest() RequestID {
	return RequestID{Client: n.client, Seq: n.requests.begin()}
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
	c.Answered = n.requests.answered(c.Request.Seq)
	return c, func(err error) {
		if !again || !errors.Is(err, record.ErrMayHaveBeenApplied) {
			n.requests.finished(c.Request.Seq)
		}
	}
}
