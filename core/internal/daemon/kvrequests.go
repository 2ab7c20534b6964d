package daemon

import (
	"context"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// kvPut serves TKVPut.
func (d *Daemon) kvPut(ctx context.Context, _ *client, m *wire.Message) (any, error) {
	var q wire.KVPut
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	return d.head.PutKV(ctx, q.Namespace, string(q.Key), q.Value, q.Overwrite)
}

// kvDel serves TKVDel.
func (d *Daemon) kvDel(ctx context.Context, _ *client, m *wire.Message) (any, error) {
	var q wire.KVKey
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	return d.head.DelKV(ctx, q.Namespace, string(q.Key), q.Prefix)
}
