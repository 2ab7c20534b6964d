package daemon

import (
	"context"
	"errors"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The large class of a detached actor goes from the actor's creator to the
// cluster's state, and from there to each worker that starts the actor.

// codeGet serves TCodeGet.
func (d *Daemon) codeGet(ctx context.Context, _ *client, m *wire.Message) (any, error) {
	var q wire.CodeAt
	object, err := decodeObject(m, &q, &q.ObjectID)
	if err != nil {
		return nil, err
	}
	data, size, found, err := d.head.Code(ctx, object, q.Offset)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.New(fault.ObjectLost, "the cluster does not have the class in object %s", object)
	}
	return wire.CodeData{Data: data, Size: size}, nil
}

// codeDrop serves TCodeDrop.
func (d *Daemon) codeDrop(_ context.Context, c *client, m *wire.Message) (any, error) {
	var q wire.ActorRef
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		return nil, err
	}
	if d.codeClaimed(c, id) {
		d.head.DropCode(id)
	}
	return nil, nil
}

// codePart serves TCodePart: it passes a part of a class on to the cluster's state. A part
// without a size asks what the state has.
func (d *Daemon) codePart(ctx context.Context, c *client, m *wire.Message) (any, error) {
	var q wire.CodePart
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		return nil, err
	}
	object, err := ids.ParseObject(q.ObjectID)
	if err != nil {
		return nil, fault.New(fault.BadRequest, "%s: %v", m.Type, err)
	}
	if q.Size == 0 {
		_, size, found, err := d.head.Code(ctx, object, 0)
		if err != nil {
			return nil, err
		}
		if !found {
			return wire.CodeHave{}, nil
		}
		q.Size, q.Offset, q.Data = size, size, nil
	}
	if err := d.noteCode(c, id); err != nil {
		return nil, err
	}
	have, err := d.head.PutCode(ctx, d.o.Node, id, object, q.Size, q.Offset, q.Data)
	return wire.CodeHave{Have: have, Size: q.Size}, err
}

// noteCode notes that a process brings the class of an actor which it will register.
func (d *Daemon) noteCode(c *client, id ids.Actor) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.gone:
		return fault.New(fault.Closed, "the process has ended")
	case !c.mayName(id):
		return fault.New(fault.BadRequest, "actor %s: its id belongs to another job", id)
	case c.codeFor == nil:
		c.codeFor = make(map[ids.Actor]bool)
	}
	c.codeFor[id] = true
	return nil
}

// codeClaimed notes that the actor whose class a process has brought is registered, or
// never will be. It reports whether the process had brought a class.
func (d *Daemon) codeClaimed(c *client, id ids.Actor) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := c.codeFor[id]
	delete(c.codeFor, id)
	return known
}

// dropCodeOf has the classes dropped that a process has brought for actors which it never
// registered. The process has ended.
func (d *Daemon) dropCodeOf(c *client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range c.codeFor {
		d.head.DropCode(id)
		d.trimmer.Soon()
	}
	c.codeFor = nil
}

// codeIDs returns the objects that hold an actor's large classes, without duplicates.
func codeIDs(raw [][]byte) (list []ids.Object, err error) {
	for _, b := range raw {
		if len(b) == 0 {
			continue
		}
		id, err := ids.ParseObject(b)
		if err != nil {
			return nil, errors.Join(errors.New("its class"), err)
		}
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list, nil
}
