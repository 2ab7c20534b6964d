package wire

// The messages about objects: between a process and its daemon, and between a process and the owner of an object.

// ObjCreate asks for room in the arena.
type ObjCreate struct {
	ObjectID []byte
	Size     uint64
	Anew     bool // in place of what the store has under this id
}

// ObjReuse makes an object, which the sender writes and seals, at the place of
// another one that nobody but the sender has pinned, and that goes.
type ObjReuse struct {
	Old      []byte
	ObjectID []byte
	Size     uint64
}

// ObjPlace is where an object lies: in the node's arena, or in a file.
type ObjPlace struct {
	Offset uint64
	Size   uint64
	Path   string // of the file that stands for memory; "": the arena
}

// ObjPlaces says where in the arena some of the objects are that were asked for.
type ObjPlaces struct {
	Which   []uint32 // of those asked for, in order
	Offsets []uint64
	Sizes   []uint64
}

// ObjRef names an object.
type ObjRef struct {
	ObjectID []byte
}

// ObjPin asks for the place of an object.
type ObjPin struct {
	ObjectID []byte
	Argument bool // a task waits for it, and no program
}

// ObjRefs names objects.
type ObjRefs struct {
	ObjectIDs [][]byte
}

// ObjMissing answers TObjCheck: the objects that no node has. With names for each of them the node with which its last
// copy was lost, "" where that is not known. It is empty if that is known of none.
type ObjMissing struct {
	ObjectIDs [][]byte
	With      []string
}

// ObjLocations answers TObjWhere, in the order of the request.
type ObjLocations struct {
	List []ObjLocation
}

// ObjLocation says which nodes have an object in their stores. Size is 0 if none has it.
type ObjLocation struct {
	Nodes   [][]byte
	Size    uint64
	Spilled bool // the node of its owner has it on disk only
	Making  bool // the only one of Nodes writes it, as far as is known; it has it whole if the object is ready
}

// ObjStats describes the arena.
type ObjStats struct {
	Capacity  uint64
	Used      uint64
	Objects   int
	Pinned    int
	PeakBytes uint64
	More      map[string]uint64 // of spilling; docs/protocol.md
}

// RefWait asks an owner for an object; answered when it is ready.
type RefWait struct {
	ObjectID []byte
	Lost     bool // the store does not have the object, though the owner said that it has

	// The asker knows that no node can make it as things are, and is answered when it is there after all.
	Infeasible bool
}

// RefValue is a ready object: an envelope, or the node that holds it.
type RefValue struct {
	Inline  []byte // envelope; nil when in a store
	Size    uint64
	NodeID  []byte
	Home    uint32     // of a value in a store: the number of the node on which it was made, as the owner knows; 0: it does not say
	Fault   *FaultBody // instead of a value
	IsError bool       // the envelope holds an exception
}

// RefFree asks an owner to let go of values that others may hold.
type RefFree struct {
	ObjectIDs [][]byte
	Lose      bool // for tests: let go of the copy only, as if the store had lost it
}
