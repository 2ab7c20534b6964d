package linkmsg

import (
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// Op names what a request asks for.
type Op string

// The requests, with the bodies of question and answer.
const (
	// These change nothing.
	OpActor     Op = "actor"      // ActorRef → record.Actor
	OpActors    Op = "actors"     // record.ActorFilter → Actors
	OpNamed     Op = "named"      // Key → record.Actor
	OpNames     Op = "names"      // Names → NameList
	OpNodes     Op = "nodes"      // nil → Nodes
	OpJobs      Op = "jobs"       // nil → Jobs
	OpValue     Op = "value"      // Key → Value
	OpKeys      Op = "keys"       // Key → Keys
	OpClass     Op = "class"      // ClassAt → ClassPart
	OpSizes     Op = "sizes"      // nil → map of names to counts
	OpResolve   Op = "resolve"    // Resolve → record.Resolution, when there is one
	OpEnded     Op = "ended"      // Resolve → record.Resolution, when the incarnation has ended
	OpCreate    Op = "create"     // record.Actor → nil
	OpKill      Op = "kill"       // Kill → nil
	OpRegister  Op = "register"   // record.Node → nil
	OpDrain     Op = "drain"      // Drain → Drained
	OpStartJob  Op = "start_job"  // record.Job → JobRef
	OpPutValue  Op = "put_value"  // Value → Count: 1 when the key is new
	OpDelValues Op = "del_values" // Key → Count
	OpKeyWrite  Op = "key_write"  // record.KeyWrite → record.KeyWritten
	OpKeyRead   Op = "key_read"   // Key → KeyFound
	OpKeyList   Op = "key_list"   // Key → record.KeyList
	OpKeyWatch  Op = "key_watch"  // KeyPlace → record.KeyChanges, when there is something to say
	OpKeyGrant  Op = "key_grant"  // KeyLease → record.KeyLeased
	OpKeyKeep   Op = "key_keep"   // KeyLease → Count: 1 when the lease goes on
	OpKeyEnd    Op = "key_end"    // KeyLease → nil
	OpPutClass  Op = "put_class"  // ClassPart → Count: bytes of the class that are there
)

// Ask is a request to the head. Again says that the node has sent it before, to this process of the head or to an
// earlier one: then the request may have been carried out. The node waits for no answer to a request with a number below Below.
type Ask struct {
	N     uint64             `msgpack:"n"`
	Below uint64             `msgpack:"below"`
	Again bool               `msgpack:"again"`
	Op    Op                 `msgpack:"op"`
	Body  msgpack.RawMessage `msgpack:"body"`
}

// Answer answers an Ask: with an error, or with the body that belongs to its Op.
type Answer struct {
	Err  *Error             `msgpack:"err"`
	Body msgpack.RawMessage `msgpack:"body"`
}

// ActorRef names an actor.
type ActorRef struct {
	ID ids.Actor `msgpack:"id"`
}

// JobRef names a job.
type JobRef struct {
	ID ids.Job `msgpack:"id"`
}

// Actors are actors' records, without Spec and Meta.
type Actors struct {
	List []record.Actor `msgpack:"list"`
}

// Names asks for the named actors of one namespace, or of all.
type Names struct {
	Namespace string `msgpack:"ns"`
	All       bool   `msgpack:"all"`
}

// NameList are named actors in order.
type NameList struct {
	List []Name `msgpack:"list"`
}

// Name is one named actor.
type Name struct {
	Namespace string    `msgpack:"ns"`
	Name      string    `msgpack:"name"`
	ID        ids.Actor `msgpack:"id"`
}

// Nodes are nodes' records.
type Nodes struct {
	List []record.Node `msgpack:"list"`
}

// Jobs are jobs' records.
type Jobs struct {
	List []record.Job `msgpack:"list"`
}

// Key names a value, or all values whose keys begin with it, or a named actor.
type Key struct {
	Namespace string `msgpack:"ns"`
	Key       string `msgpack:"key"`
	Prefix    bool   `msgpack:"prefix"`
}

// Value is a value with its key.
type Value struct {
	Namespace string `msgpack:"ns"`
	Key       string `msgpack:"key"`
	Value     []byte `msgpack:"val"`
	Found     bool   `msgpack:"found"`     // in an answer
	Overwrite bool   `msgpack:"overwrite"` // in a request
}

// Keys are keys in order.
type Keys struct {
	List []string `msgpack:"list"`
}

// Count is how many there are.
type Count struct {
	N uint64 `msgpack:"n"`
}

// ClassAt asks for a large class from an offset on.
type ClassAt struct {
	Object ids.Object `msgpack:"obj"`
	Offset uint64     `msgpack:"off"`
}

// ClassPart is a part of a large class.
type ClassPart struct {
	Node   ids.Node   `msgpack:"node"`  // of the actor's creator
	Actor  ids.Actor  `msgpack:"actor"` // that needs the class
	Object ids.Object `msgpack:"obj"`
	Size   uint64     `msgpack:"size"` // of the whole
	Offset uint64     `msgpack:"off"`
	Data   []byte     `msgpack:"data"`
	Found  bool       `msgpack:"found"` // in an answer
}

// Resolve asks for an actor's incarnation after the given one, or for the end of the given one.
type Resolve struct {
	ID         ids.Actor `msgpack:"id"`
	After      uint64    `msgpack:"after"`
	PatienceMs int64     `msgpack:"patience"` // how long the actor may be unknown
}

// Drain has a node get no new work and leave.
type Drain struct {
	ID     ids.Node     `msgpack:"id"`
	Drain  record.Drain `msgpack:"drain"`
	LeftMs int64        `msgpack:"left"` // until the node ends although it works; 0: it does not
}

// Drained answers it.
type Drained struct {
	Refused string `msgpack:"refused"` // empty: the node leaves
}

// Kill ends an actor's worker.
type Kill struct {
	ID        ids.Actor `msgpack:"id"`
	NoRestart bool      `msgpack:"final"`
}

// KeyFound is a key with what it holds, if it is there.
type KeyFound struct {
	Pair  record.KeyPair `msgpack:"pair"`
	Found bool           `msgpack:"found"`
}

// KeyPlace is a place in the sequence of the changes of keys, of which those with the prefix are wanted.
type KeyPlace struct {
	Prefix string `msgpack:"prefix"`
	From   uint64 `msgpack:"from"`
}

// KeyLease names a lease of keys, or asks for one.
type KeyLease struct {
	ID    uint64 `msgpack:"id"`
	TTLMs int64  `msgpack:"ttl"` // of one that is asked for
}
