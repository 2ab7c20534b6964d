package client

import (
	"bytes"
	"fmt"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// The pickled class of an actor travels in the actor's record. One that is too
// large for that is an object, which ends with the process that owns it. A
// detached actor lives on, and may start or restart afterwards. So its creator
// first gives the cluster's state a copy of the object, and the worker that
// starts the actor fetches the class from there.

// codePart is how many bytes of a class travel in one message.
const codePart = 4 << 20

// codeObjects returns the objects that hold classes of the actor, each once.
func (s *ActorSpec) codeObjects() (list [][]byte) {
	add := func(id []byte) {
		for _, x := range list {
			if bytes.Equal(x, id) {
				return
			}
		}
		if len(id) > 0 {
			list = append(list, id)
		}
	}
	add(s.ActorCreate.Code)
	for _, o := range s.Fallback {
		add(o.Code)
	}
	return list
}

// giveCode gives the state what codeObjects has returned, before the actor is
// registered. Existing is the actor that GetIfExists has found, for which nothing
// has to be given.
func (c *Client) giveCode(req *wire.ActorCreate, objects [][]byte) (existing *wire.ActorNamed, err error) {
	if len(objects) == 0 {
		return nil, nil
	}
	if req.GetIfExists {
		var found wire.ActorNamed
		if c.call(wire.TActorByName, wire.ActorByName{Name: req.Name, Namespace: req.Namespace}, &found) == nil {
			return &found, nil
		}
	}
	for _, raw := range objects {
		object, err := ids.ParseObject(raw)
		if err != nil {
			return nil, fault.New(fault.BadRequest, "actor %s: its class: %v", req.ClassName, err)
		}
		if err := c.giveObject(req.ActorID, object); err != nil {
			c.push(wire.TCodeDrop, wire.ActorRef{ActorID: req.ActorID})
			return nil, fmt.Errorf("actor %s: give the cluster its class: %w", req.ClassName, err)
		}
	}
	return nil, nil
}

// giveObject gives the state one object, or the parts of it that it has not got
// from another process in the meantime.
func (c *Client) giveObject(actor []byte, object ids.Object) error {
	q := wire.CodePart{ActorID: actor, ObjectID: object[:]}
	var has wire.CodeHave
	if err := c.call(wire.TCodePart, &q, &has); err != nil || has.Size > 0 && has.Have == has.Size {
		return err
	}
	f, err := c.Get(object, -1)
	if err != nil {
		return err
	}
	defer c.putBack(f)
	if f.IsError {
		return fault.New(fault.ObjectLost, "object %s, which holds it, is lost", object)
	}
	q.Size = uint64(len(f.Envelope))
	for {
		q.Offset = has.Have
		q.Data = f.Envelope[q.Offset:min(q.Offset+codePart, q.Size)]
		if err := c.call(wire.TCodePart, &q, &has); err != nil {
			return err
		}
		switch {
		case has.Have == q.Size:
			return nil
		case has.Have <= q.Offset || has.Have > q.Size: // the state answers with what it has
			return fault.New(fault.Internal, "the cluster has %d of %d bytes of object %s", has.Have, q.Size, object)
		}
	}
}

// putBack lets go of what Get has found.
func (c *Client) putBack(f *Found) {
	if f.View == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local.Drop(f.View)
}

// fetchClass gets the large class of the actor that this worker starts from the
// cluster's state; mu held, released meanwhile.
func (c *Client) fetchClass(k *execute.Call) error {
	if len(k.Actor.Code) == 0 {
		return nil
	}
	c.mu.Unlock()
	class, err := c.fetchCode(k.Actor.Code)
	c.mu.Lock()
	if err != nil {
		return fault.New(fault.CodeOf(err), "actor %s cannot start: its class, which the cluster keeps, could not be fetched: %v", k.Actor.ClassName, err)
	}
	c.exec.Fetched(k.Tmpl.FID, class)
	return nil
}

// fetchCode returns the pickled class that an object holds of which the state has a copy.
func (c *Client) fetchCode(object []byte) ([]byte, error) {
	var whole []byte
	for {
		var part wire.CodeData
		err := c.call(wire.TCodeGet, wire.CodeAt{ObjectID: object, Offset: uint64(len(whole))}, &part)
		switch {
		case err != nil:
			return nil, err
		case part.Size > maxCode:
			return nil, fault.New(fault.Internal, "it has %d bytes, at most %d are allowed", part.Size, maxCode)
		case len(part.Data) == 0 || uint64(len(part.Data)) > part.Size-uint64(len(whole)):
			return nil, fault.New(fault.Internal, "the cluster gave %d bytes behind %d of %d", len(part.Data), len(whole), part.Size)
		}
		if whole == nil {
			whole = make([]byte, 0, part.Size)
		}
		whole = append(whole, part.Data...)
		if uint64(len(whole)) == part.Size {
			break
		}
	}
	e, err := store.Parse(whole)
	switch {
	case err != nil:
		return nil, err
	case e.Format != store.FormatBytes || len(e.Bufs) != 1:
		return nil, fault.New(fault.Internal, "object %x holds no class", object)
	}
	return e.Bufs[0], nil
}

// maxCode bounds what a worker fetches: what the state keeps at all.
const maxCode = 1 << 30

// lacksArgument says that a constructor cannot run because of what it takes.
func lacksArgument(k *execute.Call, err error) error {
	f := fault.From(err)
	f.Message = fmt.Sprintf("an argument of the constructor of %s could not be had: %s", k.Actor.ClassName, f.Message)
	if f.Code == fault.OwnerDied {
		f.Message += ". Arguments of more than 100 KiB, and what put() has stored, are objects of the process that created the actor, and end with it. " +
			"Let the constructor load what is large, or let a process own it that stays, a detached actor for example"
	}
	return f
}
