package daemon

import (
	"context"
	"errors"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// The large class of a detached actor goes from the actor's creator to the
// cluster's state, and from there to each worker that starts the actor.

// code serves what concerns large classes, on the process's queue.
func (d *Daemon) code(ctx context.Context, c *client, m *wire.Message) (any, error) {
	switch m.Type {
	case wire.TCodePart:
		return d.codePart(ctx, c, m)
	case wire.TCodeGet:
		var q wire.CodeAt
		object, err := decodeObject(m, &q, &q.ObjectID)
		if err != nil {
			return nil, err
		}
		data, size, ok := d.head.Code(object, q.Offset)
		if !ok {
			return nil, fault.New(fault.ObjectLost, "the cluster does not have the class in object %s", object)
		}
		return wire.CodeData{Data: data, Size: size}, nil
	}
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

// codePart passes a part on to the state, or says what the state has.
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
		_, size, ok := d.head.Code(object, 0)
		if !ok {
			return wire.CodeHave{}, nil
		}
		q.Size, q.Offset, q.Data = size, size, nil
	}
	d.mu.Lock()
	may, gone := c.mayName(id), c.gone
	if may && !gone {
		if c.codeFor == nil {
			c.codeFor = make(map[ids.Actor]bool)
		}
		c.codeFor[id] = true
	}
	d.mu.Unlock()
	switch {
	case gone:
		return nil, fault.New(fault.Closed, "the process has ended")
	case !may:
		return nil, fault.New(fault.BadRequest, "actor %s: its id is of another job", id)
	}
	have, err := d.head.PutCode(ctx, d.o.Node, id, object, q.Size, q.Offset, q.Data)
	return wire.CodeHave{Have: have, Size: q.Size}, err
}

// codeClaimed forgets that a process brings the class of an actor, which is
// registered, or will not be, and reports whether it did.
func (d *Daemon) codeClaimed(c *client, id ids.Actor) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := c.codeFor[id]
	delete(c.codeFor, id)
	return known
}

// dropCodeOf lets go of classes whose actors the process, which has ended, has not registered.
func (d *Daemon) dropCodeOf(c *client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range c.codeFor {
		d.head.DropCode(id)
		d.restSoon()
	}
	c.codeFor = nil
}

// codeIDs returns the objects of an actor's large classes, each once.
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
