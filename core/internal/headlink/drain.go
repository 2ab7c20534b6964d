package headlink

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/record"
)

// drain has a node get no new work. What the node has given to somebody is known here, by what it has said last; when that has changed
// meanwhile, what runs there comes to its end.
func (s *Server) drain(ctx context.Context, q *linkmsg.Drain) (*linkmsg.Drained, error) {
	left := time.Duration(q.LeftMs) * time.Millisecond
	if q.LeftMs < 0 || left.Milliseconds() != q.LeftMs {
		return nil, fault.New(fault.BadRequest, "the time until the deadline of a drain cannot be %d ms", q.LeftMs)
	}
	if q.Drain.Reason == record.DrainIdle && s.isUsed(q.ID) {
		return &linkmsg.Drained{Refused: "the node is not idle: tasks or actors use some of its resources"}, nil
	}
	refused, err := s.head.DrainNode(ctx, q.ID, q.Drain, left)
	return &linkmsg.Drained{Refused: refused}, err
}

// isUsed reports whether some of what a node has is in use, or offered to somebody.
func (s *Server) isUsed(id ids.Node) (used bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.known.nodes[id]; n != nil {
		s.placing.decide(func(m *place.Machine) { used = m.IsUsed(place.Node(n.Number)) })
	}
	return used
}
