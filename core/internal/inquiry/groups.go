package inquiry

import (
	"context"
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Groups are the placement groups of the cluster, as a node needs them.
type Groups interface {
	// CreateGroup makes a group, and RemoveGroup ends one. They wait until that is committed.
	CreateGroup(ctx context.Context, g record.Group) error
	RemoveGroup(ctx context.Context, id ids.Group) error
	// AwaitGroup does not wait for the head. It calls done once, perhaps before it returns, unless it is cancelled: when the group has another state than the
	// one that was seen, with its record and why it is INFEASIBLE, or with the reason why no answer will come. Seen may be "": until the
	// group is CREATED, INFEASIBLE or REMOVED. A group that is unknown may become known within the patience. Done must not wait. Cancel reports
	// false when done was called or is about to be.
	AwaitGroup(id ids.Group, seen record.GroupState, patience time.Duration, done func(g record.Group, infeasible string, err error)) (cancel func() bool)
}

// GroupReads are the questions about placement groups.
type GroupReads interface {
	// Group returns the record of a group, of a removed one too.
	Group(ctx context.Context, id ids.Group) (record.Group, error)
	// GroupNamed returns the live group with the name.
	GroupNamed(ctx context.Context, namespace, name string) (record.Group, error)
	// Groups returns all groups, removed ones too, in the order in which they were made.
	Groups(ctx context.Context) ([]record.Group, error)
}

// UnknownGroupWait is how long a placement group may stay unknown. A handle can be sent from process to process faster than the creation of its group reaches
// the head.
const UnknownGroupWait = 2 * time.Second

// FindGroup answers TGroupFind, with nil for a group that is not there.
func FindGroup(ctx context.Context, h Reads, m *wire.Message) (any, error) {
	var q wire.GroupFind
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	var g record.Group
	var err error
	if len(q.GroupID) > 0 {
		var id ids.Group
		if id, err = groupID(q.GroupID); err == nil {
			g, err = h.Group(ctx, id)
		}
	} else {
		g, err = h.GroupNamed(ctx, q.Namespace, q.Name)
	}
	if errors.Is(err, record.ErrNotFound) {
		return nil, nil
	}
	return &g, err
}

// ListGroups answers TGroups.
func ListGroups(ctx context.Context, h Reads, _ *wire.Message) (any, error) { return h.Groups(ctx) }

// RemoveGroup serves TGroupRemove.
func RemoveGroup(ctx context.Context, h Head, m *wire.Message) (any, error) {
	var q wire.GroupRef
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	id, err := groupID(q.GroupID)
	if err != nil {
		return nil, err
	}
	return nil, h.RemoveGroup(ctx, id)
}

func groupID(b []byte) (id ids.Group, err error) {
	if len(b) != len(id) {
		return id, fault.New(fault.BadRequest, "the id of a placement group has %d bytes, this one has %d", len(id), len(b))
	}
	return ids.Group(b), nil
}

// AwaitGroup serves TGroupWait: the answer comes when the state is another than the one that was seen, or when the time is over.
func AwaitGroup(h Head, p *Pending, m *wire.Message) error {
	var q wire.GroupWait
	if err := m.Decode(&q); err != nil {
		return err
	}
	id, err := groupID(q.GroupID)
	if err != nil {
		return err
	}
	p.Begin(func(answered func()) func() {
		var limit *time.Timer
		set := make(chan struct{}) // closed when limit is set
		cancel := h.AwaitGroup(id, record.GroupState(q.Seen), UnknownGroupWait, func(g record.Group, infeasible string, err error) {
			if err != nil {
				_ = m.Fail(Unanswered(waitForGroup, Patience, err))
			} else {
				_ = m.Reply(groupState(&g, infeasible))
			}
			go func() {
				<-set
				if limit != nil {
					limit.Stop()
				}
				answered()
			}()
		})
		if q.TimeoutMs >= 0 {
			limit = time.AfterFunc(time.Duration(min(q.TimeoutMs, maxWaitMs))*time.Millisecond, func() {
				<-set
				if cancel() {
					answered()
					tellGroup(h, id, m)
				}
			})
		}
		close(set)
		return func() { cancel() }
	})
	return nil
}

const waitForGroup = "wait for a placement group"

// maxWaitMs bounds the time of a wait, such that it is one of time.Duration: some 31 years.
const maxWaitMs = 1_000_000_000_000

// tellGroup answers with a group's state as it is.
func tellGroup(h Head, id ids.Group, m *wire.Message) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	g, err := h.Group(ctx, id)
	if err != nil {
		_ = m.Fail(Unanswered(waitForGroup, Patience, err))
		return
	}
	_ = m.Reply(groupState(&g, g.Infeasible))
}

func groupState(g *record.Group, infeasible string) wire.GroupState {
	switch {
	case infeasible != "":
		return wire.GroupState{State: string(record.GroupInfeasible), Message: infeasible}
	case !g.Live():
		return wire.GroupState{State: string(g.State), Message: g.Why}
	}
	return wire.GroupState{State: string(g.State)}
}
