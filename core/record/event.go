package record

// EventKind says what an event is about.
type EventKind string

// The kinds of events. KV and setting events carry the key, not the value.
const (
	ActorEvent      EventKind = "actor"
	NodeEvent       EventKind = "node"
	JobEvent        EventKind = "job"
	KVPutEvent      EventKind = "kv_put"
	KVDelEvent      EventKind = "kv_del"
	SettingPutEvent EventKind = "setting_put"
	SettingDelEvent EventKind = "setting_del"
	KeyLeaseEvent   EventKind = "key_lease"
	GroupEvent      EventKind = "group"
)

// Event tells of one change. The same command gives the same events with the
// same numbers on every member.
type Event struct {
	Seq  uint64 // counts the events from 1, without gaps
	Kind EventKind

	// The record after the change, one of them set by kind. An actor's has no
	// Spec and no Meta.
	Actor *Actor
	Node  *Node
	Job   *Job
	Lease *KeyLease // KeyLeaseEvent
	Group *Group

	Namespace string
	Key       string
	Prefix    bool // KVDelEvent: all keys that begin with Key
}

// Cursor is a place in the stream of events and of this member's leadership.
type Cursor struct {
	Seq   uint64 // the last event seen
	Epoch uint64 // the last leadership change seen; 0: none yet
}

// Batch is what a watcher gets: events in order, perhaps none when only the
// leadership changed.
type Batch struct {
	Events  []Event
	Next    Cursor // to ask with next
	Leading bool   // this member leads, and its state holds all that was committed before
}
