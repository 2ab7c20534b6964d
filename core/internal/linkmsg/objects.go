package linkmsg

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The messages between the daemons of two nodes about objects (package pulls). Their numbers are never reused.
const (
	TObjectNews wire.Type = 230 // push: ObjectNews
	TObjectAsk  wire.Type = 231 // call: ObjectAsk → ObjectAnswer
)

// Bounds of one message.
const (
	MaxObjects = 10_000 // how many objects it names
	MaxHolders = 4      // how many nodes it names from which an object can be read
)

// ObjectEvent says what has become of objects.
type ObjectEvent string

// The first four are for the node of the objects' owner, the others come from there.
const (
	ObjectMade    ObjectEvent = "made"    // the sender has room for a version, and writes it
	ObjectHas     ObjectEvent = "has"     // the sender has the whole version
	ObjectGone    ObjectEvent = "gone"    // the sender does not have the version, and will not
	ObjectStop    ObjectEvent = "stop"    // the sender does not pull the object any more
	ObjectFree    ObjectEvent = "free"    // the version counts no more; version 0: the owner has freed the object
	ObjectPromote ObjectEvent = "promote" // the receiver's replica is the primary
)

// ObjectVersion is a version of an object. Size is set where a version is made.
type ObjectVersion struct {
	ID      ids.Object `msgpack:"id"`
	Version uint64     `msgpack:"v"`
	Size    uint64     `msgpack:"size"`
}

// ObjectNews says what has become of objects.
type ObjectNews struct {
	What ObjectEvent     `msgpack:"what"`
	List []ObjectVersion `msgpack:"list"`
}

// ObjectQuestion says what is asked about objects.
type ObjectQuestion string

// The questions to the node of the objects' owner.
const (
	ObjectWhere ObjectQuestion = "where" // from which node can the one object be read?
	ObjectDrop  ObjectQuestion = "drop"  // may the sender drop its replicas?
	ObjectThere ObjectQuestion = "there" // does a node have the objects, or make them?
	ObjectHeld  ObjectQuestion = "held"  // which nodes have the objects?
)

// ObjectAsk is a question.
type ObjectAsk struct {
	What ObjectQuestion  `msgpack:"what"`
	List []ObjectVersion `msgpack:"list"`

	Failed []HolderFailure `msgpack:"failed,omitempty"` // of "where": from which nodes the sender could not read the version in List
}

// HolderFailure says that a node could not read an object from another one.
type HolderFailure struct {
	Node   uint32 `msgpack:"node"`
	Absent bool   `msgpack:"absent"` // that one says that it does not have the object
}

// ObjectAnswer answers an ObjectAsk.
type ObjectAnswer struct {
	// Of "where".
	Holders []uint32 `msgpack:"holders"` // the most useful one first; none: nobody has the object
	Begun   bool     `msgpack:"begun"`   // the only holder pulls the object itself
	Version uint64   `msgpack:"v"`
	Size    uint64   `msgpack:"size"`
	Freed   bool     `msgpack:"freed"` // the owner has freed it

	Yes []bool `msgpack:"yes,omitempty"` // of "drop" and "there", for each of the list

	Held []ObjectHolders `msgpack:"held,omitempty"` // of "held", for each of the list
}

// ObjectHolders says which nodes have an object whole, or else which one writes it.
type ObjectHolders struct {
	Nodes   []uint32 `msgpack:"nodes"`
	Size    uint64   `msgpack:"size"`
	Spilled bool     `msgpack:"spilled"` // the node of its owner has it on disk only
	Making  bool     `msgpack:"making"`  // the only one of Nodes writes it, as far as is known
}

// DecodeObjects reads the body of a message about objects, or of an answer.
func DecodeObjects(m *wire.Message, v any) error {
	if err := Decode(m.Type.String(), m.Body, MaxBody, v); err != nil {
		return err
	}
	var list []ObjectVersion
	switch v := v.(type) {
	case *ObjectNews:
		list = v.List
	case *ObjectAsk:
		list = v.List
		if v.What == ObjectWhere && len(list) != 1 {
			return fault.New(fault.BadRequest, "a question where an object is names %d objects", len(list))
		}
		if len(v.Failed) > MaxHolders {
			return fault.New(fault.BadRequest, "a question where an object is names %d nodes, at most %d are allowed", len(v.Failed), MaxHolders)
		}
	case *ObjectAnswer:
		if n := max(len(v.Yes), len(v.Held)); len(v.Holders) > MaxHolders || n > MaxObjects {
			return fault.New(fault.BadRequest, "an answer names %d nodes and %d objects, at most %d and %d are allowed", len(v.Holders), n, MaxHolders, MaxObjects)
		}
	}
	if len(list) > MaxObjects {
		return fault.New(fault.BadRequest, "a message names %d objects, at most %d are allowed", len(list), MaxObjects)
	}
	return nil
}
