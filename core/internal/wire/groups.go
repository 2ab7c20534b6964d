package wire

// GroupCreate makes a placement group.
type GroupCreate struct {
	GroupID   []byte // chosen by the sender; the sender's job is its end
	Name      string
	Namespace string // "": that of the sender's job
	Strategy  string // PACK, SPREAD, STRICT_PACK or STRICT_SPREAD
	Detached  bool
	Waits     bool // for nodes that can have it, also where the cluster does not grow
	Bundles   []GroupBundle
}

// GroupBundle is a part of one node that a group sets aside.
type GroupBundle struct {
	Resources map[string]int64
	Labels    map[string]string
}

// GroupRef names a placement group.
type GroupRef struct {
	GroupID []byte
}

// GroupFind asks for a placement group, by its id or by the name of a live one.
type GroupFind struct {
	GroupID   []byte // empty: by name
	Namespace string
	Name      string
}

// GroupWait asks to be told of another state of a placement group than the one that was seen. Seen may be empty: then the answer comes when the group is
// CREATED, INFEASIBLE or REMOVED.
type GroupWait struct {
	GroupID   []byte
	Seen      string
	TimeoutMs int64 // after which the answer is the state as it is; below 0: there is no limit
}

// GroupState answers GroupWait.
type GroupState struct {
	State   string // of record.Group, or INFEASIBLE
	Message string // why it was removed, or cannot be placed
}
