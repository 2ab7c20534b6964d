package raftstate

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts runs every script in testdata: a line at the margin is a
// command, the indented lines after it are its result and its events.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) string {
		m, index := NewMachine(), uint64(0)
		return script.Trace(t, src, func(e *script.Event) []string {
			if e.Name == "restore" {
				m = restored(t, m)
				return nil
			}
			index++
			c := command(e)
			r, events := m.Apply(index, c)
			lines := []string{resultText(r, c.Body)}
			for _, x := range events {
				lines = append(lines, eventText(x))
			}
			return lines
		})
	})
}

// restored returns the machine after a snapshot and a restore.
func restored(t testing.TB, m *Machine) *Machine {
	var b bytes.Buffer
	if err := m.WriteSnapshot(&b); err != nil {
		t.Fatal(err)
	}
	r, err := ReadSnapshot(&b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func resultText(r Result, b Body) string {
	if err := r.err(b); err != nil {
		return fmt.Sprintf("@%d refused: %s", r.Index, err)
	}
	s := fmt.Sprintf("@%d done", r.Index)
	if r.Job != (ids.Job{}) {
		s += " job " + r.Job.String()
	}
	if r.Count != 0 {
		s += fmt.Sprintf(" count %d", r.Count)
	}
	return s
}

func eventText(e record.Event) string {
	s := fmt.Sprintf("%d %s ", e.Seq, e.Kind)
	switch {
	case e.Actor != nil:
		a := e.Actor
		s += fmt.Sprintf("%c %s #%d node=%x worker=%x restarts=%d", a.ID[0], a.State, a.Incarnation, a.Node[:1], a.Worker[:1], a.NumRestarts)
		if a.Previous.Incarnation != 0 {
			s += fmt.Sprintf(" previous=#%d/%x", a.Previous.Incarnation, a.Previous.Worker[:1])
		}
		if a.Spec != nil || a.Meta != nil {
			s += " with its spec"
		}
	case e.Group != nil:
		g := e.Group
		s += fmt.Sprintf("%c %s #%d on %v", g.ID[0], g.State, g.Epoch, nodeNames(g.Nodes))
		if g.Why != "" {
			s += ": " + g.Why
		}
	case e.Node != nil:
		s += fmt.Sprintf("%c %s at %s", e.Node.ID[0], e.Node.State, e.Node.Address)
	case e.Job != nil:
		s += fmt.Sprintf("%d %s", record.JobNumber(e.Job.ID), e.Job.State)
	default:
		s += e.Namespace + "/" + e.Key
		if e.Prefix {
			s += "*"
		}
	}
	return s
}

// nodeNames names nodes by the letters that scripts use; "-" is none.
func nodeNames(list []ids.Node) (names []string) {
	for _, n := range list {
		name := "-"
		if n != (ids.Node{}) {
			name = string(rune(n[0]))
		}
		names = append(names, name)
	}
	return names
}

// command reads a command: verb, subject, key=value words, flags.
func command(e *script.Event) Command {
	get, has, subject := e.Option, e.Has, e.Word(0)
	num := func(key string) uint64 {
		n, _ := e.OptionNumber(key)
		return uint64(n)
	}
	var actor ids.Actor
	copy(actor[:], subject[:1])
	var node ids.Node
	copy(node[:], get("node"))
	i := record.Instance{Actor: actor, Incarnation: num("inc"), Node: node, Address: "/s"}
	copy(i.Worker[:], get("worker"))
	cause := record.Cause{Reason: record.Reason(get("cause"))}
	var c Command
	switch e.Name {
	case "register-actor":
		c.Body = &RegisterActor{record.Actor{
			ID: actor, Name: get("name"), Namespace: get("ns"), Job: ids.JobOf(uint32(num("job"))), Detached: has("detached"),
			Spec: []byte("s"), Meta: []byte("m"), MaxRestarts: int(num("restarts")),
		}}
		if s := get("code"); s != "" {
			var object ids.Object
			copy(object[:], s)
			c.Body.(*RegisterActor).Actor.Code = []ids.Object{object}
		}
	case "code-part":
		var object ids.Object
		copy(object[:], get("of"))
		c.Body = &CodePart{object, actor, num("size"), num("at"), []byte(get("data")), node}
	case "code-drop":
		c.Body = &CodeDrop{actor}
	case "actor-placed":
		c.Body = &ActorPlaced{i}
	case "actor-alive":
		c.Body = &ActorAlive{i, 0}
	case "actor-restarting":
		c.Body = &ActorRestarting{actor, i.Incarnation, cause}
	case "actor-dead":
		c.Body = &ActorDead{actor, i.Incarnation, cause, 0}
	case "actor-released":
		c.Body = &ActorReleased{actor}
	case "register-node":
		copy(node[:], subject)
		c.Body = &RegisterNode{record.Node{ID: node, Address: get("addr")}}
	case "node-dead":
		copy(node[:], subject)
		c.Body = &NodeDead{ID: node}
	case "job-start":
		c.Body = &JobStart{record.Job{Entrypoint: subject}}
	case "job-end":
		c.Body = &JobEnd{ID: ids.JobOf(uint32(e.Number(subject))), State: record.JobFinished}
	case "group-create":
		g := record.Group{Name: get("name"), Namespace: get("ns"), Job: ids.JobOf(uint32(num("job"))), Detached: has("detached"), Lasting: has("lasting"), Strategy: "PACK"}
		copy(g.ID[:], subject)
		copy(g.Actor[:], get("actor"))
		for range max(num("bundles"), 1) {
			g.Bundles = append(g.Bundles, record.Bundle{Resources: record.Resources{"CPU": 1}})
		}
		c.Body = &GroupCreate{g}
	case "group-placed":
		b := &GroupPlaced{Epoch: num("epoch")}
		copy(b.ID[:], subject)
		for _, name := range e.List(get("on")) {
			var n ids.Node
			copy(n[:], name)
			b.Nodes = append(b.Nodes, n)
		}
		c.Body = b
	case "group-remove":
		b := &GroupRemove{Why: "by hand"}
		copy(b.ID[:], subject)
		c.Body = b
	case "kv-put":
		c.Body = &KVPut{get("ns"), subject, []byte(get("value")), has("overwrite")}
	case "kv-del":
		c.Body = &KVDel{get("ns"), subject, has("prefix")}
	case "setting-put":
		c.Body = &SettingPut{subject, []byte(get("value"))}
	case "setting-del":
		c.Body = &SettingDel{subject}
	default:
		e.Unknown()
	}
	if n := num("seq"); n != 0 {
		c.Request = RequestID{Client: Client{1}, Seq: n}
	}
	return c
}

func TestMachine_DeadActor_DropsSpecKeepsRecord(t *testing.T) {
	m := NewMachine()
	id := ids.Actor{1}
	m.Apply(1, Command{Body: &RegisterActor{record.Actor{ID: id, Spec: []byte("s"), Meta: []byte("m")}}})
	m.Apply(2, Command{Body: &ActorDead{ID: id, Cause: record.Cause{Reason: record.Killed, Message: "why"}, AtMs: 7}})
	a, ok := m.Actor(id)
	if !ok || a.State != record.ActorDead || a.Cause.Message != "why" || a.EndedMs != 7 || a.Spec != nil || a.Meta != nil {
		t.Errorf("got %+v", a)
	}
}

func TestMachine_MuchHasEnded_ForgetsTheOldest(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	apply := func(b Body) {
		index++
		if r, _ := m.Apply(index, Command{Body: b}); r.Outcome != Done {
			t.Fatalf("%s: %v", b.subject(), r.err(b))
		}
	}
	actor := func(i int) (id ids.Actor) { copy(id[:], fmt.Sprintf("%06d", i)); return id }
	for i := range keptDeadActors + 1 {
		apply(&RegisterActor{record.Actor{ID: actor(i)}})
		apply(&ActorDead{ID: actor(i)})
	}
	if _, ok := m.Actor(actor(0)); ok || m.actors.Len() != keptDeadActors {
		t.Errorf("%d actors are kept, the first %v", m.actors.Len(), ok)
	}
	for i := range keptDeadNodes + 1 {
		var id ids.Node
		copy(id[:], fmt.Sprintf("%06d", i))
		apply(&RegisterNode{record.Node{ID: id}})
		apply(&NodeDead{ID: id})
	}
	if len(m.nodes) != keptDeadNodes {
		t.Errorf("%d nodes are kept", len(m.nodes))
	}
	for i := range keptEndedJobs + 1 {
		apply(&JobStart{})
		apply(&JobEnd{ID: ids.JobOf(uint32(i + 1)), State: record.JobFinished})
	}
	if len(m.jobs) != keptEndedJobs {
		t.Errorf("%d jobs are kept", len(m.jobs))
	}
}

func TestMachine_Snapshot_LaterCommandsDoNotShow(t *testing.T) {
	m := NewMachine()
	m.Apply(1, Command{Body: &KVPut{"ns", "a", []byte("1"), true}})
	m.Apply(2, Command{Body: &RegisterActor{record.Actor{ID: ids.Actor{1}}}})
	m.Apply(3, Command{Body: &CodePart{Object: ids.Object{1}, Actor: ids.Actor{2}, Size: 2, Data: []byte("a")}})
	m.Apply(4, Command{Body: &CodePart{Object: ids.Object{2}, Actor: ids.Actor{3}, Size: 1, Data: []byte("a")}})
	frozen := m.clone()
	want := snapshot(t, frozen)
	m.Apply(5, Command{Body: &KVPut{"ns", "a", []byte("2"), true}})
	m.Apply(6, Command{Body: &KVPut{"ns", "b", []byte("2"), true}, Request: RequestID{Client: Client{1}, Seq: 1}})
	m.Apply(7, Command{Body: &ActorDead{ID: ids.Actor{1}}})
	m.Apply(8, Command{Body: &RegisterNode{record.Node{ID: ids.Node{1}}}})
	m.Apply(9, Command{Body: &CodePart{Object: ids.Object{1}, Actor: ids.Actor{2}, Size: 2, Offset: 1, Data: []byte("b")}})
	m.Apply(10, Command{Body: &CodePart{Object: ids.Object{3}, Actor: ids.Actor{2}, Size: 1, Data: []byte("c")}})
	m.Apply(11, Command{Body: &CodeDrop{ids.Actor{3}}})
	if !bytes.Equal(snapshot(t, frozen), want) {
		t.Error("the snapshot changed after it was taken")
	}
}

func snapshot(t testing.TB, m *Machine) []byte {
	var b bytes.Buffer
	if err := m.WriteSnapshot(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
