package raftstate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
)

// ErrNotLeader is what a member answers to a forwarded command when it does
// not lead. A Forwarder must pass it on such that errors.Is finds it.
var ErrNotLeader = errors.New("not the leader")

// retryPause is how long to wait before the next try when no new leader becomes known.
const retryPause = 20 * time.Millisecond

// Forwarder carries an encoded command to the leader, whose Node.Forwarded
// answers it. After an error other than ErrNotLeader and ErrUnknownCommand the
// command may have been applied; it is sent again, and applies once.
type Forwarder interface {
	Forward(ctx context.Context, id, address string, command []byte) ([]byte, error)
}

// Apply commits a command, here or through the leader, and waits until this
// member's state shows it. While there is no leader it waits for one, until
// the context ends. A refused command is an error of package record together
// with its Result. After record.ErrMayHaveBeenApplied a command that was given
// its Request with NewRequest may be sent again.
//
// The Apply of a Reign is carried out in its term only, and fails with ErrDeposed after it.
func (x Changes) Apply(ctx context.Context, c Command) (_ Result, err error) {
	n := x.n
	c.Term = x.term
	if err := c.Body.check(); err != nil {
		return Result{}, fmt.Errorf("%s: %w: %w", c.Body.subject(), record.ErrInvalid, err)
	}
	if err := n.known(c.Body); err != nil {
		return Result{}, err
	}
	c, ended := n.named(ctx, c)
	defer func() { ended(err) }()
	data, err := encode(c)
	if err != nil {
		return Result{}, err
	}
	r, err := n.commit(ctx, data, x.term)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Body.subject(), err)
	}
	return r, r.err(c.Body)
}

// commit tries until the command is committed or cannot be. Term, if it is not 0, is the only one in which it may be.
func (n *Node) commit(ctx context.Context, data []byte, term uint64) (Result, error) {
	sent := false // it may be applied already
	for {
		wake := n.leaderWake()
		r, outcome, err := n.try(ctx, data, term)
		if err == nil {
			return r, nil
		}
		sent = sent || outcome == maybeApplied
		if outcome != final && term != 0 && !n.reigns(term) {
			outcome, err = final, ErrDeposed
		}
		if outcome == final {
			if sent && !errors.Is(err, record.ErrMayHaveBeenApplied) {
				err = fmt.Errorf("%w: %w", record.ErrMayHaveBeenApplied, err)
			}
			return r, err
		}
		if sent && strikes(doubleApply) {
			data = n.another(data)
		}
		if err = n.pause(ctx, wake); err != nil {
			if sent {
				err = fmt.Errorf("%w: %w", record.ErrMayHaveBeenApplied, err)
			}
			return Result{}, err
		}
	}
}

// attempt says what is known about the command after a failed try.
type attempt int

const (
	refused      attempt = iota // the command was certainly not applied
	maybeApplied                // perhaps applied, or applied later
	final                       // no use to try again
)

// try sends the command to the leader once; one of a term, to this member's raft only.
func (n *Node) try(ctx context.Context, data []byte, term uint64) (Result, attempt, error) {
	if err := n.Err(); err != nil {
		return Result{}, final, err
	}
	if n.raft.State() == raft.Leader || term != 0 {
		return n.propose(ctx, data)
	}
	address, id := n.raft.LeaderWithID()
	if id == "" || id == raft.ServerID(n.opts.ID) || n.opts.Forwarder == nil {
		return Result{}, refused, ErrNotLeader
	}
	b, err := n.opts.Forwarder.Forward(ctx, string(id), string(address), data)
	switch {
	case errors.Is(err, ErrNotLeader):
		return Result{}, refused, err
	case errors.Is(err, ErrUnknownCommand):
		return Result{}, final, err
	case err != nil:
		return Result{}, maybeApplied, err
	}
	r, err := decodeResult(b)
	if err != nil {
		return Result{}, maybeApplied, err
	}
	if err := n.catchUp(ctx, r.Index); err != nil {
		return Result{}, final, fmt.Errorf("%w: %w", record.ErrMayHaveBeenApplied, err)
	}
	return r, final, nil
}

// propose commits on this member.
func (n *Node) propose(ctx context.Context, data []byte) (Result, attempt, error) {
	if ctx.Err() != nil {
		return Result{}, refused, ctx.Err()
	}
	if !n.enter() {
		return Result{}, refused, record.ErrClosed
	}
	if strikes(earlyAck) {
		return n.early(data)
	}
	if ctx.Done() == nil {
		defer n.inside.Done()
		return n.await(n.raft.Apply(data, 0))
	}
	type reply struct {
		r   Result
		a   attempt
		err error
	}
	done := make(chan reply, 1)
	go func() {
		defer n.inside.Done()
		r, a, err := n.await(n.raft.Apply(data, 0))
		done <- reply{r, a, err}
	}()
	select {
	case p := <-done:
		return p.r, p.a, p.err
	case <-ctx.Done():
		return Result{}, maybeApplied, ctx.Err()
	}
}

// await waits for raft's answer. It comes while raft runs: a leader that
// cannot commit steps down when its lease ends.
func (n *Node) await(f raft.ApplyFuture) (Result, attempt, error) {
	err := f.Error()
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, raft.ErrEnqueueTimeout):
		return Result{}, refused, err
	case err != nil:
		return Result{}, maybeApplied, err
	}
	a := f.Response().(answer)
	if errors.Is(a.err, ErrDeposed) {
		return Result{}, final, a.err // the entry changes nothing
	}
	if a.err != nil {
		return Result{}, final, fmt.Errorf("%w: %w", record.ErrMayHaveBeenApplied, a.err)
	}
	return a.result, final, nil
}

// pause waits for a reason to try again.
func (n *Node) pause(ctx context.Context, wake <-chan struct{}) error {
	t := time.NewTimer(retryPause)
	defer t.Stop()
	select {
	case <-wake:
	case <-t.C:
	case <-n.stop:
		return record.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// catchUp waits until this member has applied the command at the index. It also ends when the stores have failed: raft applies nothing here any more then.
func (n *Node) catchUp(ctx context.Context, index uint64) error {
	for {
		applied := n.fsm.reached(index)
		if applied == nil {
			return nil
		}
		select {
		case <-applied:
		case <-n.fsm.failed:
			return n.Err()
		case <-n.unstorable:
			return n.Err()
		case <-n.stop:
			return record.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Forwarded commits a command that another member forwarded, and returns what
// its Forwarder is to return. The bytes come from outside: a command that this
// member does not know never reaches the log.
func (n *Node) Forwarded(ctx context.Context, command []byte) ([]byte, error) {
	if len(command) > MaxCommandBytes {
		return nil, ErrTooLarge
	}
	c, err := decode(command)
	if err != nil {
		return nil, err
	}
	if err := c.Body.check(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnknownCommand, c.Body.subject(), err)
	}
	if n.Err() != nil || n.raft.State() != raft.Leader {
		return nil, ErrNotLeader
	}
	r, a, err := n.propose(ctx, command)
	if err != nil {
		if a == refused {
			err = fmt.Errorf("%w: %w", ErrNotLeader, err)
		}
		return nil, err
	}
	return encodeResult(r)
}
