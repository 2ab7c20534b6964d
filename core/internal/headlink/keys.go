package headlink

import (
	"context"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/record"
)

// The key-value store of Go programs. Its methods are described at inquiry.Keys.

// WriteKey changes a key, or says why not.
func (c *Client) WriteKey(ctx context.Context, w record.KeyWrite) (r record.KeyWritten, err error) {
	err = c.call(ctx, linkmsg.OpKeyWrite, true, &w, &r)
	return r, err
}

// ReadKey returns a key's pair.
func (c *Client) ReadKey(ctx context.Context, key string) (p record.KeyPair, found bool, err error) {
	var r linkmsg.KeyFound
	err = c.call(ctx, linkmsg.OpKeyRead, false, &linkmsg.Key{Key: key}, &r)
	return r.Pair, r.Found, err
}

// ListKeys returns the pairs with the prefix.
func (c *Client) ListKeys(ctx context.Context, prefix string) (r record.KeyList, err error) {
	err = c.call(ctx, linkmsg.OpKeyList, false, &linkmsg.Key{Key: prefix, Prefix: true}, &r)
	return r, err
}

// WatchKeys waits for changes. A later head goes on from the same place.
func (c *Client) WatchKeys(ctx context.Context, prefix string, from uint64) (r record.KeyChanges, err error) {
	err = c.call(ctx, linkmsg.OpKeyWatch, false, &linkmsg.KeyPlace{Prefix: prefix, From: from}, &r)
	return r, err
}

// GrantKeyLease makes a lease.
func (c *Client) GrantKeyLease(ctx context.Context, ttlMs int64) (r record.KeyLeased, err error) {
	err = c.call(ctx, linkmsg.OpKeyGrant, true, &linkmsg.KeyLease{TTLMs: ttlMs}, &r)
	return r, err
}

// KeepKeyLease has the time of a lease begin anew.
func (c *Client) KeepKeyLease(ctx context.Context, id uint64) (bool, error) {
	var r linkmsg.Count
	err := c.call(ctx, linkmsg.OpKeyKeep, false, &linkmsg.KeyLease{ID: id}, &r)
	return r.N == 1, err
}

// EndKeyLease ends a lease.
func (c *Client) EndKeyLease(ctx context.Context, id uint64) error {
	return c.call(ctx, linkmsg.OpKeyEnd, true, &linkmsg.KeyLease{ID: id}, nil)
}

// serveKeys carries out a request about keys, at the head. It reports false for another request.
func (c *session) serveKeys(ctx context.Context, q *linkmsg.Ask) (answer any, ours bool, err error) {
	h := c.s.head
	switch q.Op {
	case linkmsg.OpKeyWrite:
		answer, err = serveAs(q, func(w *record.KeyWrite) (any, error) { return pointer(h.WriteKey(c.named(ctx, q), *w)) })
	case linkmsg.OpKeyRead:
		answer, err = serveAs(q, func(k *linkmsg.Key) (any, error) {
			p, found, err := h.ReadKey(ctx, k.Key)
			return &linkmsg.KeyFound{Pair: p, Found: found}, err
		})
	case linkmsg.OpKeyList:
		answer, err = serveAs(q, func(k *linkmsg.Key) (any, error) { return pointer(h.ListKeys(ctx, k.Key)) })
	case linkmsg.OpKeyWatch:
		answer, err = serveAs(q, func(p *linkmsg.KeyPlace) (any, error) { return pointer(h.WatchKeys(ctx, p.Prefix, p.From)) })
	case linkmsg.OpKeyGrant:
		answer, err = serveAs(q, func(l *linkmsg.KeyLease) (any, error) { return pointer(h.GrantKeyLease(c.named(ctx, q), l.TTLMs)) })
	case linkmsg.OpKeyKeep:
		answer, err = serveAs(q, func(l *linkmsg.KeyLease) (any, error) {
			kept, err := h.KeepKeyLease(ctx, l.ID)
			if kept {
				return &linkmsg.Count{N: 1}, err
			}
			return &linkmsg.Count{}, err
		})
	case linkmsg.OpKeyEnd:
		answer, err = serveAs(q, func(l *linkmsg.KeyLease) (any, error) { return nil, h.EndKeyLease(c.named(ctx, q), l.ID) })
	default:
		return nil, false, nil
	}
	return answer, true, err
}
