package raftstate

import (
	"errors"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// The commands that bring the large classes of detached actors. Package classes keeps them.

const (
	// MaxCodePart caps the bytes of one part.
	MaxCodePart = classes.MaxPart
	// MaxCodeBytes caps what the state keeps of all classes together.
	MaxCodeBytes = classes.MaxBytes
)

// ErrCodeFull says that the state has no room for one more large class.
var ErrCodeFull = fault.New(fault.StoreFull, "the cluster keeps at most %d MiB of large classes of detached actors, and this one does not fit: let the class capture less, or end detached actors that are not needed", MaxCodeBytes>>20)

// ErrCodeIncomplete says that an actor names a class that has not arrived whole.
var ErrCodeIncomplete = fault.New(fault.BadRequest, "the cluster does not have the whole of its class")

func (b *CodePart) kind() Kind      { return KindCodePart }
func (b *CodePart) subject() string { return "class in object " + b.Object.String() }
func (b *CodePart) check() error    { return b.at().Check(len(b.Data)) }

func (b *CodePart) at() classes.At {
	return classes.At{Object: b.Object, Actor: b.Actor, Size: b.Size, Offset: b.Offset, Node: b.Node}
}

func (b *CodePart) apply(m *Machine) Result { return m.putCode(b.at(), values.Value{Data: b.Data}) }

func (b *CodeBlob) kind() Kind      { return KindCodeBlob }
func (b *CodeBlob) subject() string { return "class in object " + b.Object.String() }
func (b *CodeBlob) check() error {
	if err := b.Part.Blob.Check(); err != nil {
		return err
	}
	return b.at().Check(int(b.Part.Blob.Size))
}
func (b *CodeBlob) tickets() []record.BlobTicket { return []record.BlobTicket{b.Part.Ticket} }

func (b *CodeBlob) at() classes.At {
	return classes.At{Object: b.Object, Actor: b.Actor, Size: b.Size, Offset: b.Offset, Node: b.Node}
}

func (b *CodeBlob) apply(m *Machine) Result {
	return m.putCode(b.at(), values.Value{Blob: &b.Part.Blob})
}

func (b *CodeDrop) kind() Kind      { return KindCodeDrop }
func (b *CodeDrop) subject() string { return "actor " + b.Actor.String() }
func (b *CodeDrop) check() error    { return nil }

func (b *CodeDrop) apply(m *Machine) Result {
	m.classes.Drop(b.Actor)
	return Result{}
}

// putCode takes a part of a class.
func (m *Machine) putCode(at classes.At, part values.Value) Result {
	if m.actors.Get(at.Actor) != nil {
		return Result{Outcome: Exists}
	}
	if n := m.nodes[at.Node]; n != nil && n.State == record.NodeDead {
		return Result{Outcome: NodeGone} // the part was under way when its node was declared dead
	}
	have, err := m.classes.Put(at, part)
	switch {
	case errors.Is(err, classes.ErrFull):
		return Result{Outcome: CodeFull}
	case errors.Is(err, classes.ErrTwoSizes):
		return Result{Outcome: Invalid}
	case err != nil:
		return Result{Outcome: unnamed(err)}
	}
	return Result{Count: int(have)}
}

// releaseCode drops the classes of an actor if the actor cannot start again.
func (m *Machine) releaseCode(a *record.Actor) {
	if len(a.Code) == 0 || a.Live() && (a.State != record.ActorAlive || a.MayRestart()) {
		return
	}
	m.classes.Release(a.Code)
	a.Code = nil
}
