package inquiry

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Value answers TKVGet, with nil for a key that is not there.
func Value(ctx context.Context, h Reads, m *wire.Message) (any, error) {
	var q wire.KVKey
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	v, found, err := h.GetKV(ctx, q.Namespace, string(q.Key))
	if err != nil || !found {
		return nil, err
	}
	if v == nil {
		v = []byte{}
	}
	return v, nil
}

// Keys answers TKVKeys.
func Keys(ctx context.Context, h Reads, m *wire.Message) (any, error) {
	var q wire.KVKey
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	found, err := h.KVKeys(ctx, q.Namespace, string(q.Key))
	if err != nil {
		return nil, err
	}
	keys := make([][]byte, 0, len(found))
	for _, k := range found {
		keys = append(keys, []byte(k))
	}
	return keys, nil
}

// ActorByName answers TActorByName.
func ActorByName(ctx context.Context, h Reads, m *wire.Message) (any, error) {
	var q wire.ActorByName
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	a, err := h.GetNamed(ctx, q.Namespace, q.Name)
	if err != nil {
		return nil, err
	}
	return wire.ActorNamed{ActorID: a.ID[:], Meta: a.Meta}, nil
}

// ActorNames answers TActorNames.
func ActorNames(ctx context.Context, h Reads, m *wire.Message) (any, error) {
	var q wire.ActorNames
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	found, err := h.ListNamed(ctx, q.Namespace, q.All)
	if err != nil {
		return nil, err
	}
	names := make([]wire.ActorName, 0, len(found))
	for _, n := range found {
		names = append(names, wire.ActorName{Name: n.Name, Namespace: n.Namespace})
	}
	return names, nil
}

// PutValue serves TKVPut.
func PutValue(ctx context.Context, h Head, m *wire.Message) (any, error) {
	var q wire.KVPut
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	return h.PutKV(ctx, q.Namespace, string(q.Key), q.Value, q.Overwrite)
}

// DrainNode serves TDrainNode.
func DrainNode(ctx context.Context, h Head, m *wire.Message) (any, error) {
	var q wire.DrainNode
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	if len(q.NodeID) != len(ids.Node{}) || q.LeftMs < 0 || q.LeftMs > maxLeft.Milliseconds() {
		return nil, fault.New(fault.BadRequest, "the node or the time of a drain cannot be one")
	}
	refused, err := h.DrainNode(ctx, ids.Node(q.NodeID), record.Drain{Reason: record.DrainReason(q.Reason), Message: q.Message}, time.Duration(q.LeftMs)*time.Millisecond)
	return wire.Drained{Refused: refused}, err
}

// maxLeft is the longest time until the deadline of a drain.
const maxLeft = 10 * 365 * 24 * time.Hour

// DeleteValues serves TKVDel.
func DeleteValues(ctx context.Context, h Head, m *wire.Message) (any, error) {
	var q wire.KVKey
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	return h.DelKV(ctx, q.Namespace, string(q.Key), q.Prefix)
}
