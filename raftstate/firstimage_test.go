package raftstate

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/answered"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
)

// firstSnapshot is what the first version wrote after firstCommands.
const firstSnapshot = "testdata/first.snapshot"

// firstCommands is some of everything that a snapshot holds.
func firstCommands() (list []Command) {
	add := func(client byte, seq uint64, b Body) {
		list = append(list, Command{Request: RequestID{Client: Client{client}, Seq: seq}, Body: b})
	}
	add(1, 1, &RegisterNode{record.Node{ID: ids.Node{1}, Name: "one", Address: "/one", Number: 3, Labels: map[string]string{"zone": "a"}, Resources: record.Resources{"CPU": 40000}}})
	add(1, 2, &RegisterNode{record.Node{ID: ids.Node{2}, Name: "two"}})
	add(1, 3, &NodeDead{ID: ids.Node{2}, Reason: "test", AtMs: 7, Gone: true})
	add(1, 4, &NodeNumber{ids.Node{3}})
	add(2, 1, &JobStart{record.Job{Namespace: "ns", Entrypoint: "a.py", Driver: ids.Owner{5}}})
	add(2, 2, &JobStart{record.Job{Entrypoint: "b.py"}})
	add(2, 3, &JobEnd{ID: ids.JobOf(2), State: record.JobFinished, Message: "done", AtMs: 9})
	add(2, 4, &CodePart{Object: ids.Object{1}, Actor: ids.Actor{1}, Size: 4, Data: []byte("ab")})
	add(2, 5, &CodePart{Object: ids.Object{1}, Actor: ids.Actor{1}, Size: 4, Offset: 2, Data: []byte("cd")})
	add(2, 6, &RegisterActor{record.Actor{ID: ids.Actor{1}, Name: "n", Namespace: "ns", Job: ids.JobOf(1), Detached: true, MaxRestarts: 2, Spec: []byte("spec"), Meta: []byte("meta"), Code: []ids.Object{{1}}}})
	add(2, 7, &ActorPlaced{record.Instance{Actor: ids.Actor{1}, Incarnation: 1, Node: ids.Node{1}}})
	add(2, 8, &ActorAlive{record.Instance{Actor: ids.Actor{1}, Incarnation: 1, Node: ids.Node{1}, Worker: ids.Worker{8}, Address: "/w"}, 11})
	add(3, 5, &RegisterActor{record.Actor{ID: ids.Actor{2}, Name: "n", Namespace: "ns"}}) // refused
	add(3, 6, &RegisterActor{record.Actor{ID: ids.Actor{2}, Name: "other", Namespace: "ns"}})
	add(3, 7, &ActorDead{ID: ids.Actor{2}, Cause: record.Cause{Reason: record.Killed, Message: "why"}, AtMs: 12})
	add(3, 8, &CodePart{Object: ids.Object{2}, Actor: ids.Actor{3}, Size: 9, Data: []byte("part"), Node: ids.Node{1}})
	add(3, 9, &KVPut{"ns", "k", []byte("v"), true})
	add(3, 11, &KVPut{"ns", "empty", nil, true})
	add(3, 10, &KVPut{"", strings.Repeat("long", 50), bytes.Repeat([]byte("0123456789abcdef"), 200), false})
	add(3, 12, &SettingPut{"token", []byte("secret")})
	return list
}

func firstMachine() *Machine {
	m := NewMachine()
	for i, c := range firstCommands() {
		m.Apply(uint64(i)+2, c)
	}
	return m
}

func TestReadSnapshot_OfTheFirstLayout_GivesTheSameMachine(t *testing.T) {
	data, err := os.ReadFile(firstSnapshot)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ReadSnapshot(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshot(t, m), snapshot(t, firstMachine())) {
		t.Errorf("got %+v", m)
	}
	for _, c := range firstCommands() { // each is known
		if r, events := m.Apply(1000, c); r.Index == 1000 || r.Outcome == Expired || len(events) > 0 {
			t.Errorf("%s is applied again: %+v, %v", c.Body.subject(), r, events)
		}
	}
	check(t, m)
	for cut := range data {
		if _, err := ReadSnapshot(bytes.NewReader(data[:cut])); !errors.Is(err, ErrDamagedSnapshot) {
			t.Fatalf("cut at %d: got %v", cut, err)
		}
	}
	for at := range data {
		bad := bytes.Clone(data)
		bad[at] ^= 0x10
		if m, err := ReadSnapshot(bytes.NewReader(bad)); err == nil && !bytes.Equal(snapshot(t, m), snapshot(t, firstMachine())) {
			t.Errorf("byte %d is another one, and nobody notices", at)
		}
	}
}

// Floors of the first version are kept: what it had forgotten stays refused.
func TestReadSnapshot_OfTheFirstLayoutWithFloors_RefusesWhatWasForgotten(t *testing.T) {
	im := &firstImage{
		Format: firstImageFormat, Index: 90,
		Floors:   []RequestID{{Client: Client{1}, Seq: 7}, {Client: Client{2}, Seq: 9}},
		Requests: []answered.FirstRequest[Result]{{ID: RequestID{Client: Client{3}, Seq: 2}, Result: Result{Index: 80}}, {ID: RequestID{Client: Client{1}, Seq: 9}, Result: Result{Index: 81}}, {ID: RequestID{Client: Client{3}, Seq: 1}, Result: Result{Index: 82}}},
	}
	m, err := im.machine()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for id, want := range map[RequestID]Result{
			{Client: Client{1}, Seq: 7}: {Outcome: Expired}, {Client: Client{1}, Seq: 9}: {Index: 81}, {Client: Client{2}, Seq: 3}: {Outcome: Expired}, {Client: Client{3}, Seq: 1}: {Index: 82}, {Client: Client{3}, Seq: 2}: {Index: 80},
		} {
			if r, _ := m.Apply(100, Command{Request: id, Body: &JobStart{}}); r != want {
				t.Errorf("request %v: got %+v, want %+v", id, r, want)
			}
		}
		m = restored(t, m)
	}
	if n := slices.Collect(m.answered.Image()); len(n) != 3 || n[0].ID != (Client{2}) || n[2].ID != (Client{3}) {
		t.Errorf("the clients are not in the order of their last commands: %+v", n)
	}
}

func TestReadSnapshot_OfTheFirstLayoutThatMakesNoState_IsRefused(t *testing.T) {
	node, job, actor := &record.Node{ID: ids.Node{1}}, &record.Job{ID: ids.JobOf(1)}, &record.Actor{ID: ids.Actor{1}}
	part := firstCode{Object: ids.Object{1}, Size: 3, Parts: [][]byte{[]byte("ab"), []byte("cd")}}
	for what, im := range map[string]*firstImage{
		"an empty record":   {Nodes: []*record.Node{nil}},
		"a node twice":      {Nodes: []*record.Node{node, node}},
		"a job twice":       {Jobs: []*record.Job{job, job}},
		"an actor twice":    {Actors: []*record.Actor{actor, actor}},
		"too much code":     {Code: []firstCode{part}},
		"code that is lost": {Actors: []*record.Actor{{ID: ids.Actor{1}, Code: []ids.Object{{4}}}}},
		"code for an actor": {CodeFor: []classes.ImagePending{{Actor: ids.Actor{1}, Objects: []ids.Object{{4}}}}},
	} {
		if _, err := im.machine(); err == nil {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
