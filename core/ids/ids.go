package ids

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Sizes in bytes.
const (
	JobSize    = 4
	OwnerSize  = 12
	ActorSize  = 16
	TaskSize   = 24
	ObjectSize = 28
	NodeSize   = 28
	WorkerSize = 28
	GroupSize  = 18

	nodeNumberSize = 4 // in an owner's id
)

type (
	// Job numbers a driver's program within the cluster, big endian.
	Job [JobSize]byte
	// Owner identifies a process that can own objects; it is the head of its Worker id.
	// Bytes 0–3 are the number of the process's node, big endian, and the rest is random.
	// Where the rest is zero, the id names the node's daemon.
	Owner [OwnerSize]byte
	// Actor is 12 random bytes and the job.
	Actor [ActorSize]byte
	// Task is the first 24 bytes of the task's first return.
	Task [TaskSize]byte
	// Object is described in the package comment.
	Object [ObjectSize]byte
	// Node identifies a machine's daemon.
	Node [NodeSize]byte
	// Group identifies a placement group: 14 random bytes and the job.
	Group [GroupSize]byte
	// Worker identifies a worker or driver process.
	Worker [WorkerSize]byte
)

// NewObject builds the id of the owner's n-th object.
func NewObject(n uint64, o Owner, j Job, index uint32) (id Object) {
	binary.BigEndian.PutUint64(id[:], n)
	copy(id[8:], o[:])
	copy(id[20:], j[:])
	binary.BigEndian.PutUint32(id[24:], index)
	return id
}

// Sibling returns the result that is n behind this one among those of its task.
func (id Object) Sibling(n int) Object {
	binary.BigEndian.PutUint64(id[:], id.Count()+uint64(n))
	binary.BigEndian.PutUint32(id[24:], id.Index()+uint32(n))
	return id
}

// Count returns the number of the object among its owner's.
func (id Object) Count() uint64 { return binary.BigEndian.Uint64(id[:]) }

// Count returns the number of the task's first return among its owner's objects.
func (t Task) Count() uint64 { return binary.BigEndian.Uint64(t[:]) }

// Owner returns the process that owns the object.
func (id Object) Owner() (o Owner) { copy(o[:], id[8:]); return o }

// Raw returns a copy of the id's bytes, as a message has it.
func (id Object) Raw() []byte { return bytes.Clone(id[:]) }

// Index returns the position among the task's returns, from 1; 0 for put.
func (id Object) Index() uint32 { return binary.BigEndian.Uint32(id[24:]) }

// Owner returns the id under which the worker owns objects.
func (w Worker) Owner() (o Owner) { copy(o[:], w[:]); return o }

// JobOf returns the job with number n.
func JobOf(n uint32) (j Job) { binary.BigEndian.PutUint32(j[:], n); return j }

func random(b []byte) {
	if _, err := rand.Read(b); err != nil {
		panic("ids: no randomness: " + err.Error())
	}
}

// NewNode returns a fresh random id.
func NewNode() (n Node) { random(n[:]); return n }

// NewWorkerOn returns a fresh id of a process on the node with this number. All behind the
// number is random.
func NewWorkerOn(node uint32) (w Worker) {
	binary.BigEndian.PutUint32(w[:], node)
	random(w[nodeNumberSize:])
	return w
}

// DaemonOn returns the id that names the daemon of the node with this number.
func DaemonOn(node uint32) (o Owner) { binary.BigEndian.PutUint32(o[:], node); return o }

// Node returns the number of the process's node.
func (o Owner) Node() uint32 { return binary.BigEndian.Uint32(o[:]) }

// IsDaemon reports whether the id names a node's daemon.
func (o Owner) IsDaemon() bool { return o == DaemonOn(o.Node()) }

// NewActor returns a fresh id in job j.
func NewActor(j Job) (a Actor) { random(a[:]); copy(a[12:], j[:]); return a }

// NewGroup returns a fresh id of a placement group that job j makes.
func NewGroup(j Job) (g Group) { random(g[:]); copy(g[GroupSize-JobSize:], j[:]); return g }

func (j Job) String() string     { return hex.EncodeToString(j[:]) }
func (o Owner) String() string   { return hex.EncodeToString(o[:]) }
func (a Actor) String() string   { return hex.EncodeToString(a[:]) }
func (t Task) String() string    { return hex.EncodeToString(t[:]) }
func (id Object) String() string { return hex.EncodeToString(id[:]) }
func (n Node) String() string    { return hex.EncodeToString(n[:]) }
func (w Worker) String() string  { return hex.EncodeToString(w[:]) }
func (g Group) String() string   { return hex.EncodeToString(g[:]) }

// ParseObject reads the 28 raw bytes of an object id.
func ParseObject(b []byte) (id Object, err error) {
	if len(b) != ObjectSize {
		return id, fmt.Errorf("object id has %d bytes, want %d", len(b), ObjectSize)
	}
	copy(id[:], b)
	return id, nil
}
