package headlink

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Bundler sets bundles of placement groups aside on a node. Its methods are called as those of Node.
type Bundler interface {
	// PrepareBundles sets bundles aside when what they need is free. The answer is Client.BundlesPrepared.
	PrepareBundles(job ids.Job, b packing.Bundles)
	// OpenBundles gives the bundles of a group that are set aside to its work.
	OpenBundles(group ids.Group, epoch uint64)
	// UndoBundles drops what was set aside by the order with the ticket, and is not open.
	UndoBundles(group ids.Group, ticket uint64)
	// DropBundles drops all that the node has of a group.
	DropBundles(group ids.Group)
	// KeptBundles returns what the node has of all groups.
	KeptBundles() []packing.Kept
}

// The requests of a node about placement groups. They are described at head.Head.

// CreateGroup makes a placement group.
func (c *Client) CreateGroup(ctx context.Context, g record.Group) error {
	return c.call(ctx, linkmsg.OpCreateGroup, true, &g, nil)
}

// RemoveGroup ends a placement group.
func (c *Client) RemoveGroup(ctx context.Context, id ids.Group) error {
	return c.call(ctx, linkmsg.OpRemoveGroup, true, &linkmsg.GroupRef{ID: id}, nil)
}

// Group returns a placement group's record.
func (c *Client) Group(ctx context.Context, id ids.Group) (g record.Group, err error) {
	err = c.call(ctx, linkmsg.OpGroup, false, &linkmsg.GroupRef{ID: id}, &g)
	return g, err
}

// GroupNamed returns the live placement group with the name.
func (c *Client) GroupNamed(ctx context.Context, namespace, name string) (g record.Group, err error) {
	err = c.call(ctx, linkmsg.OpGroupNamed, false, &linkmsg.Key{Namespace: namespace, Key: name}, &g)
	return g, err
}

// Groups returns all placement groups.
func (c *Client) Groups(ctx context.Context) ([]record.Group, error) {
	var r linkmsg.Groups
	err := c.call(ctx, linkmsg.OpGroups, false, nil, &r)
	return r.List, err
}

// AwaitGroup asks to be told when a group has another state than the one that was seen.
func (c *Client) AwaitGroup(id ids.Group, seen record.GroupState, patience time.Duration, done func(g record.Group, infeasible string, err error)) (cancel func() bool) {
	a := c.ask(linkmsg.OpAwaitGroup, false, &linkmsg.AwaitGroup{ID: id, Seen: seen, PatienceMs: patience.Milliseconds()}, func(b msgpack.RawMessage, err error) {
		var r linkmsg.GroupFound
		if err == nil {
			err = linkmsg.Decode("the head's answer about a placement group", b, wire.MaxControl, &r)
		}
		done(r.Group, r.Infeasible, err)
	})
	return func() bool {
		dropped, _ := c.drop(a, nil)
		return dropped
	}
}

// BundlesPrepared answers PrepareBundles, and says what is free now.
func (c *Client) BundlesPrepared(a packing.Prepared, s resource.Stock) {
	c.Settled(a.Ticket, 0, s)
	c.report(linkmsg.BundlesPrepared, &linkmsg.Prepared{Group: linkmsg.GroupRef{ID: a.Group, Epoch: a.Epoch, Ticket: a.Ticket}, OK: a.OK})
}

// maxKept is how many bundles one report names.
const maxKept = 1000

// tellBundles says which bundles this node has. The orders of the head before to open or to drop some may have been lost with that head.
func (c *Client) tellBundles() {
	for list := range slices.Chunk(c.o.Node.KeptBundles(), maxKept) {
		var r linkmsg.KeptBundles
		for _, k := range list {
			r.List = append(r.List, linkmsg.KeptBundle{Group: linkmsg.GroupRef{ID: k.Group, Epoch: k.Epoch, Ticket: k.Ticket}, Index: k.Index, Open: k.Open})
		}
		c.report(linkmsg.BundlesKept, &r)
	}
}

// bundleOrder carries out an order about bundles.
func (c *Client) bundleOrder(told *linkmsg.Told) error {
	if told.Kind == linkmsg.PrepareBundles {
		var b linkmsg.Bundles
		err := linkmsg.Decode("bundles to be set aside", told.Body, wire.MaxControl, &b)
		if err == nil {
			err = b.Check()
		}
		if err != nil {
			return err
		}
		q := packing.Bundles{Group: b.Group.ID, Name: b.Name, Epoch: b.Group.Epoch, Index: b.Index, Ticket: b.Group.Ticket, For: max(time.Duration(b.ForMs)*time.Millisecond, 1)}
		for _, need := range b.Needs {
			q.Needs = append(q.Needs, resource.FromWire(need))
		}
		c.o.Node.PrepareBundles(b.Job, q)
		return nil
	}
	var g linkmsg.GroupRef
	if err := linkmsg.Decode("an order about a placement group", told.Body, maxReport, &g); err != nil {
		return err
	}
	switch told.Kind {
	case linkmsg.OpenBundles:
		c.o.Node.OpenBundles(g.ID, g.Epoch)
	case linkmsg.UndoBundles:
		c.o.Node.UndoBundles(g.ID, g.Ticket)
	case linkmsg.DropBundles:
		c.o.Node.DropBundles(g.ID)
	default:
		return fmt.Errorf("unknown order %q", told.Kind)
	}
	return nil
}
