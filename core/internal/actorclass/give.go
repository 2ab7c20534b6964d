package actorclass

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// partSize is how many bytes of a class travel in one message.
const partSize = 4 << 20

// Daemon is the way to the cluster's state.
type Daemon interface {
	// CallDaemon asks the daemon and waits for the answer.
	CallDaemon(t wire.Type, body, reply any) error
}

// Creator is the process that creates an actor.
type Creator interface {
	Daemon
	// PushDaemon tells the daemon.
	PushDaemon(t wire.Type, body any)
	// Read calls a function with the envelope of an object, which is valid meanwhile.
	Read(object ids.Object, f func(envelope []byte) error) error
}

// Give gives the state the objects that hold classes of an actor, before the actor is
// registered. Existing is the actor that GetIfExists has found, for which nothing
// has to be given.
func Give(c Creator, req *wire.ActorCreate, objects [][]byte) (existing *wire.ActorNamed, err error) {
	if len(objects) == 0 {
		return nil, nil
	}
	if req.GetIfExists {
		var found wire.ActorNamed
		if c.CallDaemon(wire.TActorByName, wire.ActorByName{Name: req.Name, Namespace: req.Namespace}, &found) == nil {
			return &found, nil
		}
	}
	for _, raw := range objects {
		object, err := ids.ParseObject(raw)
		if err != nil {
			return nil, fault.New(fault.BadRequest, "actor %s: its class: %v", req.ClassName, err)
		}
		if err := giveObject(c, req.ActorID, object); err != nil {
			c.PushDaemon(wire.TCodeDrop, wire.ActorRef{ActorID: req.ActorID})
			return nil, fmt.Errorf("actor %s: give the cluster its class: %w", req.ClassName, err)
		}
	}
	return nil, nil
}

// giveObject gives the state one object, or the parts of it that it has not got
// from another process in the meantime.
func giveObject(c Creator, actor []byte, object ids.Object) error {
	q := wire.CodePart{ActorID: actor, ObjectID: object[:]}
	var has wire.CodeHave
	if err := c.CallDaemon(wire.TCodePart, &q, &has); err != nil || has.Size > 0 && has.Have == has.Size {
		return err
	}
	return c.Read(object, func(envelope []byte) error {
		q.Size = uint64(len(envelope))
		for {
			if has.Have > q.Size {
				return fault.New(fault.Internal, "the cluster has %d of %d bytes of object %s", has.Have, q.Size, object)
			}
			q.Offset = has.Have
			q.Data = envelope[q.Offset:min(q.Offset+partSize, q.Size)]
			if err := c.CallDaemon(wire.TCodePart, &q, &has); err != nil {
				return err
			}
			switch {
			case has.Have == q.Size:
				return nil
			case has.Have <= q.Offset: // the state answers with what it has
				return fault.New(fault.Internal, "the cluster has %d of %d bytes of object %s", has.Have, q.Size, object)
			}
		}
	})
}
