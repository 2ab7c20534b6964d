package raftstate

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
)

// checkCode holds the invariants of the classes that the state keeps.
func checkCode(t *testing.T, m *Machine) {
	t.Helper()
	users := map[ids.Object]int{}
	for id, a := range m.actors.All() {
		if len(a.Code) > 0 && (!a.Live() || a.State == record.ActorAlive && !a.MayRestart()) {
			t.Fatalf("actor %s is %s, cannot start again, and keeps its class", id, a.State)
		}
		for _, object := range a.Code {
			users[object]++
		}
	}
	have := map[ids.Object]uint64{}
	part := func(object ids.Object, size, bytes uint64) {
		if have[object] += bytes; have[object] > size {
			t.Fatalf("class %s has %d bytes of %d", object, have[object], size)
		}
	}
	m.classes.Image(
		func(p *classes.ImagePart) { part(p.Object, p.Size, uint64(len(p.Data))) },
		func(p *classes.ImageBlob) { part(p.Object, p.Size, uint64(p.Part.Size)) },
		func(p *classes.ImagePending) {
			if m.actors.Get(p.Actor) != nil || len(p.Objects) == 0 {
				t.Fatalf("actor %s is registered and about to be registered", p.Actor)
			}
			if n := m.nodes[p.Node]; n != nil && n.State == record.NodeDead {
				t.Fatalf("actor %s is about to be registered by a node that is dead", p.Actor)
			}
			for _, object := range p.Objects {
				users[object]++
			}
		},
	)
	for object := range users {
		if _, kept := have[object]; !kept {
			t.Fatalf("class %s has %d users and is not kept", object, users[object])
		}
	}
	if len(users) != len(have) {
		t.Fatalf("%d classes are kept, and %d have users", len(have), len(users))
	}
}

// A class that does not fit beside the others is refused, and fits when they are gone.
func TestMachine_ClassesTooLargeTogether_Refused(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	apply := func(b Body) Result {
		index++
		r, _ := m.Apply(index, Command{Body: b})
		return r
	}
	if r := apply(&CodePart{Object: ids.Object{1}, Actor: ids.Actor{1}, Size: MaxCodeBytes - 1}); r.Outcome != Done {
		t.Fatal(r.Outcome)
	}
	second := &CodePart{Object: ids.Object{2}, Actor: ids.Actor{2}, Size: 2}
	if err := apply(second).err(second); !errors.Is(err, ErrCodeFull) {
		t.Fatalf("got %v", err)
	}
	checkCode(t, m)
	apply(&CodeDrop{ids.Actor{1}})
	if r := apply(second); r.Outcome != Done {
		t.Fatal(r.Outcome)
	}
	checkCode(t, m)
}

// A class comes back as it came, whatever the parts were and wherever reading begins.
func TestNode_Code_ComesBackAsItCame(t *testing.T) {
	n := openLone(t)
	actor, object, whole := ids.Actor{1}, ids.Object{1}, []byte("0123456789")
	for at := 0; at < len(whole); at += 3 { // the last part is a single byte
		if _, _, ok, err := n.Code(testContext(t), object, 0); ok || err != nil {
			t.Fatal("a class is given that is not there whole")
		}
		have, err := n.PutCode(testContext(t), ids.Node{1}, actor, object, 10, uint64(at), whole[at:min(at+3, 10)])
		if err != nil || have != uint64(min(at+3, 10)) {
			t.Fatal(have, err)
		}
	}
	for at := range 10 {
		var got []byte
		for len(got) < 10-at {
			data, size, ok, err := n.Code(testContext(t), object, uint64(at+len(got)))
			if !ok || err != nil || size != 10 || len(data) == 0 {
				t.Fatal(data, size, ok)
			}
			got = append(got, data...)
		}
		if !slices.Equal(got, whole[at:]) {
			t.Errorf("from %d: got %q", at, got)
		}
	}
	if data, _, ok, err := n.Code(testContext(t), object, 10); !ok || err != nil || len(data) != 0 {
		t.Errorf("behind the end: got %q, %v", data, ok)
	}
}

// A lone member gives the memory of a class back when nobody needs it any more.
func TestNode_ClassNotNeeded_MemoryIsFree(t *testing.T) {
	n := openLone(t)
	const size = 64 << 20
	before := heap()
	actor, object := ids.Actor{1}, ids.Object{1}
	for at := uint64(0); at < size; at += MaxCodePart {
		if _, err := n.PutCode(testContext(t), ids.Node{1}, actor, object, size, at, make([]byte, MaxCodePart)); err != nil {
			t.Fatal(err)
		}
	}
	if grown := heap() - before; grown < size {
		t.Fatalf("a class of %d bytes takes %d", size, grown)
	}
	if err := n.DropCode(testContext(t), actor); err != nil {
		t.Fatal(err)
	}
	// What the log still has goes with the next snapshots, in the background.
	left := int64(0)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = heap() - before; left < 4*MaxCodePart {
			return
		}
	}
	t.Errorf("of a class of %d bytes, which nobody needs, %d are left", size, left)
}

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
