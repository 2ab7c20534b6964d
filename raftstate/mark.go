package raftstate

import (
	"context"
	"fmt"
	"sync"

	"github.com/eagleray/eagleray/core/record"
)

// marks are the commits for fresh reads of any member. One is under way at most, and all that ask meanwhile share the next one.
type marks struct {
	mu      sync.Mutex
	running bool
	next    *mark // that begins when the running one has ended; nil: nobody waits
}

// mark is one commit.
type mark struct {
	done chan struct{} // closed when err is set
	err  error
}

// Fresh returns when this member's state shows all that was committed before the call. A member that leads and is the only one knows that
// it does. Otherwise a Mark is committed: raft's own check of the leadership may be wrong after a pause of the process. While there is
// no leader, Fresh waits until the context ends. It serves a member that follows, too.
func (n *Node) Fresh(ctx context.Context) error {
	if n.fsm.ring.Leads() && n.alone() && n.Err() == nil {
		return nil
	}
	m, err := n.joinMark()
	if err != nil {
		return fmt.Errorf("a fresh read: %w", err)
	}
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		return fmt.Errorf("a fresh read: %w", ctx.Err())
	}
}

// joinMark returns the commit that begins next. It must not have begun: what was committed before the call has to be before it.
func (n *Node) joinMark() (*mark, error) {
	k := &n.marks
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == nil {
		k.next = &mark{done: make(chan struct{})}
	}
	m := k.next
	if !k.running {
		if !n.enter() {
			k.next = nil
			return nil, record.ErrClosed
		}
		k.running = true
		go func() {
			defer n.inside.Done()
			n.commitMarks()
		}()
	}
	return m, nil
}

// commitMarks commits until nobody waits any more. While raft runs, each commit ends: Close ends it otherwise.
func (n *Node) commitMarks() {
	for m := n.takeMark(); m != nil; m = n.takeMark() {
		m.err = n.commitMark()
		close(m.done)
	}
}

func (n *Node) takeMark() *mark {
	n.marks.mu.Lock()
	defer n.marks.mu.Unlock()
	m := n.marks.next
	n.marks.next, n.marks.running = nil, m != nil
	return m
}

// commitMark commits one Mark. It has no request: a second one changes nothing either.
func (n *Node) commitMark() error {
	data, err := encode(Command{Body: n.markFor()})
	if err == nil {
		_, err = n.commit(context.Background(), data, 0)
	}
	if err != nil {
		return fmt.Errorf("a fresh read: %w", err)
	}
	return nil
}
