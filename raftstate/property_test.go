package raftstate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// randomBody draws from few ids and names, so that commands meet.
func randomBody(r *rand.Rand) Body {
	actor := ids.Actor{byte(r.IntN(6) + 1)}
	node := ids.Node{byte(r.IntN(4) + 1)}
	inc := uint64(r.IntN(4))
	at := r.Int64N(1000)
	inst := record.Instance{Actor: actor, Incarnation: inc, Node: node, Worker: ids.Worker{byte(r.IntN(3) + 1)}, Address: "/s", Pid: r.IntN(9)}
	cause := record.Cause{Reason: record.WorkerDied, Message: fmt.Sprint(at), Error: randomBytes(r)}
	key := []string{"", "a", "ab", "b"}[r.IntN(4)]
	ns := []string{"", "x", "y"}[r.IntN(3)]
	resources := record.Resources{}
	for range r.IntN(5) {
		resources[fmt.Sprint("r", r.IntN(9))] = r.Int64N(100000)
	}
	object := ids.Object{byte(r.IntN(3) + 1)}
	switch r.IntN(30) {
	case 26, 27, 28, 29:
		return randomGroupBody(r, actor, node, ns, key)
	case 22, 23, 24, 25:
		return randomBlobBody(r, actor, object, node, ns, key)
	case 18, 19, 20, 21:
		return randomKeyBody(r)
	case 0, 1, 2:
		return &RegisterActor{record.Actor{
			ID: actor, Owner: ids.Owner{byte(r.IntN(4))}, Name: key, Namespace: ns, Job: ids.JobOf(uint32(r.IntN(5))), Detached: r.IntN(4) == 0,
			Resources: resources, RunResources: resources, MaxRestarts: r.IntN(3) - 1, Spec: randomBytes(r), Meta: randomBytes(r), CreatedMs: at,
			Code: [][]ids.Object{nil, {object}}[r.IntN(2)],
		}}
	case 3:
		return &ActorPlaced{inst}
	case 4:
		return &ActorAlive{inst, at}
	case 5:
		return &ActorRestarting{actor, inc, cause}
	case 6:
		return &ActorDead{actor, inc, cause, at}
	case 7:
		return &ActorReleased{actor}
	case 8:
		if r.IntN(3) == 0 {
			return &NodeNumber{node}
		}
		return &RegisterNode{record.Node{ID: node, Name: ns, Address: key, Resources: resources, Number: uint32(r.IntN(3)), Links: [][]string{nil, {key}}[r.IntN(2)], Labels: map[string]string{"l": key, "m": ns, "n": key}}}
	case 9:
		if r.IntN(3) == 0 {
			return &NodeDrain{node, record.Drain{Reason: []record.DrainReason{record.DrainIdle, record.DrainPreemption}[r.IntN(2)], Message: key, AtMs: at, DeadlineMs: at + 1}}
		}
		return &NodeDead{node, key, at, r.IntN(2) == 0}
	case 10:
		return &JobStart{record.Job{Namespace: ns, Entrypoint: key, Driver: ids.Owner{byte(r.IntN(4))}, Metadata: map[string]string{"l": key, "m": ns, "n": key}}}
	case 11:
		return &JobEnd{ids.JobOf(uint32(r.IntN(5))), record.JobLost, key, at}
	case 12:
		if r.IntN(3) == 0 {
			return &KVDel{ns, key, r.IntN(2) == 0}
		}
		return &KVPut{ns, key, randomBytes(r), r.IntN(2) == 0}
	}
	switch r.IntN(6) {
	case 0, 1, 2:
		offset := uint64(r.IntN(3))
		return &CodePart{object, actor, 3, offset, make([]byte, r.IntN(4-int(offset))), node}
	case 3:
		return &CodeDrop{actor}
	case 4:
		return &SettingDel{key}
	}
	return &SettingPut{key, randomBytes(r)}
}

// randomBlobBody draws a command that names large values. The values are few, so that they meet, and one has two sizes.
func randomBlobBody(r *rand.Rand, actor ids.Actor, object ids.Object, node ids.Node, ns, key string) Body {
	any := func() record.HeldBlob {
		x := byte(r.IntN(5) + 1)
		b := record.Blob{Hash: record.BlobHash{x}, Size: uint32(x)}
		if r.IntN(20) == 0 {
			b.Size++
		}
		return record.HeldBlob{Blob: b, Ticket: record.BlobTicket{byte(r.Uint32())}}
	}
	switch r.IntN(4) {
	case 0:
		part := any()
		return &CodeBlob{object, actor, 9, uint64(r.IntN(5)), part, node}
	case 1, 2:
		return &KVBlob{ns, key, any(), r.IntN(2) == 0}
	}
	spec, meta := any(), any()
	a := record.Actor{
		ID: actor, Owner: ids.Owner{byte(r.IntN(4))}, Name: key, Namespace: ns, MaxRestarts: r.IntN(3) - 1, Home: randomBytes(r), Detached: r.IntN(2) == 0,
		Code: [][]ids.Object{nil, {object}}[r.IntN(2)], Blobs: &record.ActorBlobs{Spec: spec.Blob, Meta: meta.Blob},
	}
	return &ActorBlobs{a, []record.BlobTicket{spec.Ticket, meta.Ticket}}
}

// randomGroupBody draws a command about a placement group. Groups, their names and nodes are few, so that they meet.
func randomGroupBody(r *rand.Rand, actor ids.Actor, node ids.Node, ns, key string) Body {
	id := ids.Group{byte(r.IntN(5) + 1)}
	at := r.Int64N(1000)
	switch r.IntN(6) {
	case 0, 1:
		g := record.Group{
			ID: id, Job: ids.JobOf(uint32(r.IntN(5))), Name: key, Namespace: ns, Owner: ids.Owner{byte(r.IntN(4))}, Detached: r.IntN(3) == 0, Lasting: r.IntN(3) == 0,
			Waits: r.IntN(2) == 0, Strategy: "PACK", CreatedMs: at, Bundles: []record.Bundle{{Resources: record.Resources{"CPU": r.Int64N(9) + 1}, Labels: map[string]string{"l": key, "m": ns}}},
		}
		if r.IntN(2) == 0 {
			g.Actor = actor
		}
		if r.IntN(2) == 0 {
			g.Bundles = append(g.Bundles, record.Bundle{Resources: record.Resources{"x": 1, "y": 0}})
		}
		return &GroupCreate{g}
	case 2, 3, 4:
		return &GroupPlaced{id, uint64(r.IntN(3) + 1), slices.Repeat([]ids.Node{node}, r.IntN(2)+1), at}
	}
	return &GroupRemove{id, key, at}
}

// randomKeyBody draws a command of the key-value store of Go programs.
func randomKeyBody(r *rand.Rand) Body {
	lease := uint64(r.IntN(400)) // the index of some command
	switch r.IntN(8) {
	case 0:
		return &KeyLeaseGrant{1000 + r.Int64N(1000)}
	case 1:
		return &KeyLeaseEnd{lease, lease * uint64(r.IntN(2))}
	case 2:
		return &KeyReign{}
	case 3:
		return &Mark{}
	}
	w := record.KeyWrite{Key: []string{"a", "ab", "b"}[r.IntN(3)], Delete: r.IntN(4) == 0}
	if w.If = r.IntN(4) == 0; w.If {
		w.Version = uint64(r.IntN(3))
	}
	if !w.Delete {
		w.Value, w.Lease = randomBytes(r), lease*uint64(r.IntN(2))
	}
	return &KeyWrite{w}
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(4))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestMachine_RandomCommands_ReplicasAndRestoredAgree: members that apply the
// same log entries, one of them restored from a snapshot now and then, answer
// the same, tell the same events, and write the same snapshots.
func TestMachine_RandomCommands_ReplicasAndRestoredAgree(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b, c := NewMachine(), NewMachine(), NewMachine()
		for index := uint64(1); index <= 400; index++ {
			cmd := Command{Body: randomBody(r)}
			if r.IntN(2) == 0 { // now and then a number that was used already
				cmd.Request = RequestID{Client: Client{byte(r.IntN(3))}, Seq: uint64(r.IntN(100) + 1)}
				cmd.Answered, cmd.Seen = r.Uint64N(max(cmd.Request.Seq, 90))/90*(cmd.Request.Seq/2), r.Uint64N(index)
			}
			data, err := encode(cmd)
			if err != nil {
				t.Fatal(err)
			}
			apply := func(m *Machine) (Result, []record.Event) {
				cmd, err := decode(data)
				if err != nil {
					t.Fatal(err)
				}
				return m.Apply(index, cmd)
			}
			ra, ea := apply(a)
			for i, m := range []*Machine{b, c} {
				rm, em := apply(m)
				if ra != rm || !reflect.DeepEqual(ea, em) {
					t.Fatalf("seed %d, command %d %#v, member %d: got %+v %v, want %+v %v", seed, index, cmd.Body, i, rm, em, ra, ea)
				}
			}
			if r.IntN(20) == 0 {
				c = restored(t, c)
				checkBlobs(t, c)
			}
			if r.IntN(20) == 0 {
				want := snapshot(t, a)
				for i, m := range []*Machine{b, c, restored(t, a)} {
					if !bytes.Equal(snapshot(t, m), want) {
						t.Fatalf("seed %d, command %d: the snapshot of member %d differs", seed, index, i)
					}
				}
			}
			check(t, a)
		}
	}
}

// check holds a machine's invariants.
func check(t *testing.T, m *Machine) {
	t.Helper()
	for id, a := range m.actors.All() {
		if a.ID != id || a.Incarnation != uint64(a.NumRestarts)+record.FirstIncarnation {
			t.Fatalf("actor %s: incarnation %d after %d restarts", id, a.Incarnation, a.NumRestarts)
		}
		if a.Live() && a.Name != "" {
			if m.actors.Named(a.Namespace, a.Name) != a {
				t.Fatalf("actor %s has lost its name", id)
			}
		}
		if (a.State == record.ActorAlive) != (a.Worker != ids.Worker{}) && a.Live() {
			t.Fatalf("actor %s is %s with worker %s", id, a.State, a.Worker)
		}
	}
	checkCode(t, m)
	checkBlobs(t, m)
	checkGroups(t, m)
	drivers := 0
	for id, j := range m.jobs {
		if j.Driver == (ids.Owner{}) {
			continue
		}
		if drivers++; m.drivers[j.Driver] != id {
			t.Fatalf("job %s of driver %s: the driver has job %s, too", id, j.Driver, m.drivers[j.Driver])
		}
	}
	if drivers != len(m.drivers) {
		t.Fatalf("%d drivers of %d jobs that have one", len(m.drivers), drivers)
	}
	all := 0
	for c := range m.answered.Image() {
		all += len(c.Results)
	}
	if all != m.answered.Len() {
		t.Fatalf("%d results are kept, and %d counted", all, m.answered.Len())
	}
}
