package nodestore

import (
	"net"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// testArena is how many bytes the arena of a test has.
const testArena = 16 << 20

// node plays the daemon of a store, which has an arena and answers what the test says.
type node struct {
	t     *testing.T
	mu    sync.Mutex // the session's
	s     Store
	self  ids.Owner
	table *refs.Table

	lock    sync.Mutex // of what follows
	answers map[wire.Type]func(*wire.Message)
	heard   map[wire.Type][]ids.Object // what it was told without an answer
}

// effects are those of a table whose objects nobody waits for: the copies of what goes are dropped.
type effects struct {
	refs.Effects
	s *Store
}

func (e effects) DropCopy(o *refs.Object) bool { return e.s.ObjectGone(o) }
func (effects) Free([][]byte)                  {}
func (effects) Needed()                        {}
func (effects) Unseen(*refs.Object)            {}

// newNode returns a node with a store. A message without an answer of the test's is refused, or noted if nobody waits.
func newNode(t *testing.T, o Options) *node {
	t.Helper()
	n := &node{t: t, self: ids.NewWorkerOn(1).Owner(), answers: map[wire.Type]func(*wire.Message){}, heard: map[wire.Type][]ids.Object{}}
	o.Mu = &n.mu
	n.s.Init(o)
	n.table = refs.NewTable(n.self, ids.JobOf(1), "/own.sock", effects{s: &n.s})
	n.s.Join(n.self, n.table)
	fd, err := store.CreateMemory("nodestore", testArena)
	if err != nil {
		t.Fatal(err)
	}
	n.s.SetArena(fd, testArena)
	here, there := net.Pipe()
	daemon := wire.NewPeer(there, n.hear, nil)
	session := wire.NewPeer(here, func(*wire.Message) {}, nil)
	n.s.Serve(session)
	daemon.Start()
	session.Start()
	t.Cleanup(func() {
		session.Close()
		daemon.Close()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.s.Close()
	})
	return n
}

func (n *node) hear(m *wire.Message) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if f := n.answers[m.Type]; f != nil {
		f(m)
		return
	}
	var q wire.ObjRef
	if err := m.Decode(&q); err == nil && len(q.ObjectID) == len(ids.Object{}) {
		n.heard[m.Type] = append(n.heard[m.Type], ids.Object(q.ObjectID))
	}
	_ = m.Reply(nil)
}

// on has messages of a type answered by a function.
func (n *node) on(t wire.Type, f func(*wire.Message)) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.answers[t] = f
}

// told returns the objects of the messages of a type that have come. All that was said before has come.
func (n *node) told(t wire.Type) []ids.Object {
	n.t.Helper()
	if err := n.s.daemon.Call(n.t.Context(), wire.TObjStats, nil, nil); err != nil {
		n.t.Fatal(err)
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.heard[t]
}

func (n *node) id(count uint64) ids.Object { return ids.NewObject(count, n.self, ids.JobOf(1), 1) }
