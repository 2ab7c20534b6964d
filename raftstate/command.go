package raftstate

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/answered"
)

// Kind numbers a command. Numbers are never reused.
type Kind uint16

// The commands; their bodies are the structs of the same name.
const (
	KindRegisterNode    Kind = 1
	KindNodeDead        Kind = 2
	KindNodeNumber      Kind = 3
	KindNodeDrain       Kind = 4
	KindJobStart        Kind = 10
	KindJobEnd          Kind = 11
	KindRegisterActor   Kind = 20
	KindActorPlaced     Kind = 21
	KindActorAlive      Kind = 22
	KindActorRestarting Kind = 23
	KindActorDead       Kind = 24
	KindActorReleased   Kind = 25
	KindCodePart        Kind = 26
	KindCodeDrop        Kind = 27
	KindCodeBlob        Kind = 28
	KindActorBlobs      Kind = 29
	KindGroupCreate     Kind = 30
	KindGroupPlaced     Kind = 31
	KindGroupRemove     Kind = 32
	KindKVPut           Kind = 40
	KindKVDel           Kind = 41
	KindKVBlob          Kind = 42
	KindSettingPut      Kind = 50
	KindSettingDel      Kind = 51
	KindKeyWrite        Kind = 60
	KindKeyLeaseGrant   Kind = 61
	KindKeyLeaseEnd     Kind = 62
	KindKeyReign        Kind = 63
	KindMark            Kind = 70 // 80 was used while this was built
)

// Client is the random name of one proposer.
type Client = answered.Client

// RequestID makes a retried command apply once. A client's numbers count from
// 1; the zero value asks Apply for the next.
type RequestID = answered.RequestID

// Command is one change of the state.
type Command struct {
	Request RequestID
	// Term, if it is not 0, is the only term in which the command may be applied: that of the leader that has decided it. Reign sets it.
	Term uint64
	Body Body
	// Answered says that the client needs the results of its requests with lower numbers no more: it has them, or has
	// given the requests up. The state forgets them. At most Request.Seq; 0 says nothing.
	Answered uint64
	// Seen is an index of the log that the sender's member had applied when the request was made for the first time.
	// 0: not known.
	Seen uint64
}

// Body is what a command does; the types below implement it.
type Body interface {
	kind() Kind
	// check refuses what no state could accept, before it reaches the log.
	check() error
	// subject names the thing in errors.
	subject() string
	apply(*Machine) Result
}

// RegisterNode adds a node, or renews the record of one that is alive.
type RegisterNode struct {
	Node record.Node `msgpack:"node"`
}

// NodeDead declares a node dead.
type NodeDead struct {
	ID     ids.Node `msgpack:"id"`
	Reason string   `msgpack:"reason"`
	AtMs   int64    `msgpack:"at"`
	Gone   bool     `msgpack:"gone,omitempty"` // there is proof that none of its processes runs any more
}

// NodeNumber gives a node the next number: Result.Number. The node is not registered yet. A second NodeNumber of the same
// node gives it another number, and the first one is never used.
type NodeNumber struct {
	ID ids.Node `msgpack:"id"`
}

// NodeDrain says that a node gets no new work and leaves. A later one replaces the one before; a node that is dead stays so, and that is no error.
type NodeDrain struct {
	ID    ids.Node     `msgpack:"id"`
	Drain record.Drain `msgpack:"drain"`
}

// JobStart gives a job the next number: Result.Job. A driver starts one job. A second JobStart of the same driver is a
// request whose answer was lost, and its result is the number of the first.
type JobStart struct {
	Job record.Job `msgpack:"job"`
}

// JobEnd ends a job. Its actors are the head's business.
type JobEnd struct {
	ID      ids.Job         `msgpack:"id"`
	State   record.JobState `msgpack:"state"`
	Message string          `msgpack:"msg"`
	AtMs    int64           `msgpack:"at"`
}

// RegisterActor adds a PENDING actor.
type RegisterActor struct {
	Actor record.Actor `msgpack:"actor"`
}

// ActorBlobs is RegisterActor for a record with large values, which Actor.Blobs names.
type ActorBlobs struct {
	Actor   record.Actor        `msgpack:"actor"`
	Tickets []record.BlobTicket `msgpack:"tickets"`
}

// ActorPlaced notes the node on which an incarnation is being started.
type ActorPlaced struct {
	Instance record.Instance `msgpack:"inst"`
}

// ActorAlive notes that an incarnation takes calls.
type ActorAlive struct {
	Instance record.Instance `msgpack:"inst"`
	AtMs     int64           `msgpack:"at"`
}

// ActorRestarting makes the incarnation that follows Incarnation, which ended.
type ActorRestarting struct {
	ID          ids.Actor    `msgpack:"id"`
	Incarnation uint64       `msgpack:"inc"`
	Cause       record.Cause `msgpack:"cause"`
}

// ActorDead ends an actor for good. Incarnation 0 is any.
type ActorDead struct {
	ID          ids.Actor    `msgpack:"id"`
	Incarnation uint64       `msgpack:"inc"`
	Cause       record.Cause `msgpack:"cause"`
	AtMs        int64        `msgpack:"at"`
}

// ActorReleased notes that an actor has no handles left.
type ActorReleased struct {
	ID ids.Actor `msgpack:"id"`
}

// CodePart brings a part of an object that holds the class of an actor which is
// about to be registered. Result.Count says how many bytes are there; a part
// whose offset is another changes nothing.
type CodePart struct {
	Object ids.Object `msgpack:"obj"`
	Actor  ids.Actor  `msgpack:"actor"`
	Size   uint64     `msgpack:"size"` // of the whole
	Offset uint64     `msgpack:"off"`
	Data   []byte     `msgpack:"data"`
	Node   ids.Node   `msgpack:"node"` // of the creator: with its death the actor is not registered any more
}

// CodeBlob is CodePart with a part that the heads keep as a file.
type CodeBlob struct {
	Object ids.Object      `msgpack:"obj"`
	Actor  ids.Actor       `msgpack:"actor"`
	Size   uint64          `msgpack:"size"` // of the whole
	Offset uint64          `msgpack:"off"`
	Part   record.HeldBlob `msgpack:"part"`
	Node   ids.Node        `msgpack:"node"`
}

// CodeDrop says that the actor will not be registered.
type CodeDrop struct {
	Actor ids.Actor `msgpack:"actor"`
}

// KVPut stores a value; Result.Count is 1 when the key is new.
type KVPut struct {
	Namespace string `msgpack:"ns"`
	Key       string `msgpack:"key"`
	Value     []byte `msgpack:"val"`
	Overwrite bool   `msgpack:"over"`
}

// KVBlob is KVPut of a large value, which the heads keep as a file.
type KVBlob struct {
	Namespace string          `msgpack:"ns"`
	Key       string          `msgpack:"key"`
	Value     record.HeldBlob `msgpack:"val"`
	Overwrite bool            `msgpack:"over"`
}

// KVDel deletes a key or, with Prefix, all keys that begin with it;
// Result.Count says how many.
type KVDel struct {
	Namespace string `msgpack:"ns"`
	Key       string `msgpack:"key"`
	Prefix    bool   `msgpack:"prefix"`
}

// SettingPut stores a setting of the cluster, a token for example.
type SettingPut struct {
	Name  string `msgpack:"name"`
	Value []byte `msgpack:"val"`
}

// SettingDel deletes a setting.
type SettingDel struct {
	Name string `msgpack:"name"`
}

// newBody returns an empty body of the kind, nil for an unknown one.
func newBody(k Kind) Body {
	switch k {
	case KindRegisterNode:
		return &RegisterNode{}
	case KindNodeDead:
		return &NodeDead{}
	case KindNodeNumber:
		return &NodeNumber{}
	case KindNodeDrain:
		return &NodeDrain{}
	case KindJobStart:
		return &JobStart{}
	case KindJobEnd:
		return &JobEnd{}
	case KindRegisterActor:
		return &RegisterActor{}
	case KindActorPlaced:
		return &ActorPlaced{}
	case KindActorAlive:
		return &ActorAlive{}
	case KindActorRestarting:
		return &ActorRestarting{}
	case KindActorDead:
		return &ActorDead{}
	case KindActorReleased:
		return &ActorReleased{}
	case KindCodePart:
		return &CodePart{}
	case KindCodeDrop:
		return &CodeDrop{}
	case KindCodeBlob:
		return &CodeBlob{}
	case KindActorBlobs:
		return &ActorBlobs{}
	case KindGroupCreate:
		return &GroupCreate{}
	case KindGroupPlaced:
		return &GroupPlaced{}
	case KindGroupRemove:
		return &GroupRemove{}
	case KindKVPut:
		return &KVPut{}
	case KindKVDel:
		return &KVDel{}
	case KindKVBlob:
		return &KVBlob{}
	case KindSettingPut:
		return &SettingPut{}
	case KindSettingDel:
		return &SettingDel{}
	case KindKeyWrite:
		return &KeyWrite{}
	case KindKeyLeaseGrant:
		return &KeyLeaseGrant{}
	case KindKeyLeaseEnd:
		return &KeyLeaseEnd{}
	case KindKeyReign:
		return &KeyReign{}
	case KindMark:
		return &Mark{}
	}
	return nil
}
