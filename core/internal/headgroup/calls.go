package headgroup

import (
	"errors"
	"io"
	"net"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

// AppendEntries implements raft.Transport. Heartbeats are entries, too.
func (t *transport) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) error {
	if isHeartbeat(args) {
		err := t.append(id, to, args, answer)
		if err == nil {
			t.contacts.answered(id)
		}
		return err
	}
	answers := t.contacts.after(id)
	err := t.append(id, to, args, answer)
	if err != nil {
		await(t.ctx, answers)
	}
	return err
}

func (t *transport) append(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) error {
	if err := t.stall.check(); err != nil {
		return err
	}
	return repeat(func() error { return t.NetworkTransport.AppendEntries(id, to, args, answer) })
}

// RequestVote implements raft.Transport.
func (t *transport) RequestVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, answer *raft.RequestVoteResponse) error {
	return repeat(func() error { return t.NetworkTransport.RequestVote(id, to, args, answer) })
}

// RequestPreVote implements raft.WithPreVote.
func (t *transport) RequestPreVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, answer *raft.RequestPreVoteResponse) error {
	return repeat(func() error { return t.NetworkTransport.RequestPreVote(id, to, args, answer) })
}

// repeat makes a call to another head that can be made more than once. Raft's transport keeps idle connections, and those to a head that was restarted
// have ended: a candidate whose request for a vote met one would wait for the next election.
func repeat(call func() error) (err error) {
	for range pooled + 1 {
		if err = call(); !hasEnded(err) {
			break
		}
	}
	return err
}

// hasEnded reports whether a call failed because its connection had ended.
func hasEnded(err error) bool {
	for _, one := range []error{net.ErrClosed, io.ErrClosedPipe, io.EOF, io.ErrUnexpectedEOF, unix.ECONNRESET, unix.EPIPE} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
