package headlink

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/record"
)

// The requests that change something. They wait until the change is committed, and are described at head.Head.

// CreateActor registers an actor.
func (c *Client) CreateActor(ctx context.Context, a record.Actor) error {
	return c.call(ctx, linkmsg.OpCreate, true, &a, nil)
}

// KillActor ends an actor's worker.
func (c *Client) KillActor(ctx context.Context, id ids.Actor, noRestart bool) error {
	return c.call(ctx, linkmsg.OpKill, true, &linkmsg.Kill{ID: id, NoRestart: noRestart}, nil)
}

// RegisterNode adds a node or renews its record.
func (c *Client) RegisterNode(ctx context.Context, n record.Node) error {
	if err := c.call(ctx, linkmsg.OpRegister, true, &n, nil); err != nil {
		return err
	}
	c.isRegistered()
	return nil
}

// DrainNode has a node get no new work and leave. A second time it changes the deadline.
func (c *Client) DrainNode(ctx context.Context, id ids.Node, d record.Drain, left time.Duration) (refused string, err error) {
	var r linkmsg.Drained
	err = c.call(ctx, linkmsg.OpDrain, true, &linkmsg.Drain{ID: id, Drain: d, LeftMs: left.Milliseconds()}, &r)
	return r.Refused, err
}

// StartJob gives a job a number.
func (c *Client) StartJob(ctx context.Context, j record.Job) (ids.Job, error) {
	var r linkmsg.JobRef
	err := c.call(ctx, linkmsg.OpStartJob, true, &j, &r)
	return r.ID, err
}

// PutKV stores a value.
func (c *Client) PutKV(ctx context.Context, namespace, key string, value []byte, overwrite bool) (added bool, err error) {
	var r linkmsg.Count
	err = c.call(ctx, linkmsg.OpPutValue, true, &linkmsg.Value{Namespace: namespace, Key: key, Value: value, Overwrite: overwrite}, &r)
	return r.N == 1, err
}

// DelKV deletes values.
func (c *Client) DelKV(ctx context.Context, namespace, key string, prefix bool) (int, error) {
	var r linkmsg.Count
	err := c.call(ctx, linkmsg.OpDelValues, true, &linkmsg.Key{Namespace: namespace, Key: key, Prefix: prefix}, &r)
	return int(r.N), err
}

// PutCode brings a part of a large class.
func (c *Client) PutCode(ctx context.Context, node ids.Node, a ids.Actor, object ids.Object, size, offset uint64, data []byte) (have uint64, err error) {
	var r linkmsg.Count
	err = c.call(ctx, linkmsg.OpPutClass, true, &linkmsg.ClassPart{Node: node, Actor: a, Object: object, Size: size, Offset: offset, Data: data}, &r)
	return r.N, err
}
