package headlink

import (
	"context"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/record"
)

// The questions that change nothing. They are described at inquiry.Reads.

// Actor returns an actor's record.
func (c *Client) Actor(ctx context.Context, id ids.Actor) (a record.Actor, err error) {
	err = c.call(ctx, linkmsg.OpActor, false, &linkmsg.ActorRef{ID: id}, &a)
	return a, err
}

// ActorsOf returns the actors that match.
func (c *Client) ActorsOf(ctx context.Context, f record.ActorFilter) ([]record.Actor, error) {
	var r linkmsg.Actors
	err := c.call(ctx, linkmsg.OpActors, false, &f, &r)
	return r.List, err
}

// GetNamed returns the live actor with the name.
func (c *Client) GetNamed(ctx context.Context, namespace, name string) (a record.Actor, err error) {
	err = c.call(ctx, linkmsg.OpNamed, false, &linkmsg.Key{Namespace: namespace, Key: name}, &a)
	return a, err
}

// ListNamed returns the named actors of a namespace, or of all.
func (c *Client) ListNamed(ctx context.Context, namespace string, all bool) ([]record.Named, error) {
	var r linkmsg.NameList
	if err := c.call(ctx, linkmsg.OpNames, false, &linkmsg.Names{Namespace: namespace, All: all}, &r); err != nil {
		return nil, err
	}
	var list []record.Named
	for _, n := range r.List {
		list = append(list, record.Named{Namespace: n.Namespace, Name: n.Name, Actor: n.ID})
	}
	return list, nil
}

// Nodes returns all nodes.
func (c *Client) Nodes(ctx context.Context) ([]record.Node, error) {
	var r linkmsg.Nodes
	err := c.call(ctx, linkmsg.OpNodes, false, nil, &r)
	return r.List, err
}

// Jobs returns all jobs.
func (c *Client) Jobs(ctx context.Context) ([]record.Job, error) {
	var r linkmsg.Jobs
	err := c.call(ctx, linkmsg.OpJobs, false, nil, &r)
	return r.List, err
}

// GetKV returns a value.
func (c *Client) GetKV(ctx context.Context, namespace, key string) (value []byte, found bool, err error) {
	var r linkmsg.Value
	err = c.call(ctx, linkmsg.OpValue, false, &linkmsg.Key{Namespace: namespace, Key: key}, &r)
	return r.Value, r.Found, err
}

// KVKeys returns the keys with the prefix.
func (c *Client) KVKeys(ctx context.Context, namespace, prefix string) ([]string, error) {
	var r linkmsg.Keys
	err := c.call(ctx, linkmsg.OpKeys, false, &linkmsg.Key{Namespace: namespace, Key: prefix, Prefix: true}, &r)
	return r.List, err
}

// Code returns a part of a large class.
func (c *Client) Code(ctx context.Context, object ids.Object, offset uint64) (data []byte, size uint64, found bool, err error) {
	var r linkmsg.ClassPart
	err = c.call(ctx, linkmsg.OpClass, false, &linkmsg.ClassAt{Object: object, Offset: offset}, &r)
	return r.Data, r.Size, r.Found, err
}

// Sizes returns how many entries the head's tables have.
func (c *Client) Sizes(ctx context.Context) (map[string]int, error) {
	var r map[string]int
	err := c.call(ctx, linkmsg.OpSizes, false, nil, &r)
	return r, err
}
