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

// kvGet serves TKVGet.
func (d *Daemon) kvGet(_ context.Context, _ *client, m *wire.Message) (any, error) {
	var q wire.KVKey
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	v, ok := d.head.GetKV(q.Namespace, string(q.Key))
	if !ok {
		return nil, nil
	}
	if v == nil {
		v = []byte{}
	}
	return v, nil
}

// kvDel serves TKVDel.
func (d *Daemon) kvDel(ctx context.Context, _ *client, m *wire.Message) (any, error) {
	var q wire.KVKey
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	return d.head.DelKV(ctx, q.Namespace, string(q.Key), q.Prefix)
}

// kvKeys serves TKVKeys.
func (d *Daemon) kvKeys(_ context.Context, _ *client, m *wire.Message) (any, error) {
	var q wire.KVKey
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	keys := [][]byte{}
	for _, k := range d.head.KVKeys(q.Namespace, string(q.Key)) {
		keys = append(keys, []byte(k))
	}
	return keys, nil
}
