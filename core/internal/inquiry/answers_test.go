package inquiry

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// kept is a head that has one of everything, or fails.
type kept struct {
	Reads
	err error
}

var (
	it    = record.Actor{ID: ids.Actor{1}, Job: ids.JobOf(1), Namespace: "ns", Name: "it", Meta: []byte("meta"), State: record.ActorAlive, Node: ids.Node{2}, Worker: ids.Worker{3}}
	young = record.Actor{ID: ids.Actor{4}, State: record.ActorPending}
)

func (k kept) GetNamed(_ context.Context, namespace, name string) (record.Actor, error) {
	if k.err == nil && (namespace != "ns" || name != "it") {
		return record.Actor{}, record.ErrNotFound
	}
	return it, k.err
}

func (k kept) ListNamed(context.Context, string, bool) ([]record.Named, error) {
	return []record.Named{{Namespace: "ns", Name: "it", Actor: it.ID}}, k.err
}

func (k kept) GetKV(_ context.Context, namespace, key string) ([]byte, bool, error) {
	if key == "empty" {
		return nil, true, k.err
	}
	return []byte("v"), namespace == "ns" && key == "key", k.err
}

func (k kept) KVKeys(_ context.Context, namespace, prefix string) ([]string, error) {
	if namespace != "ns" {
		return nil, k.err
	}
	return []string{prefix + "1", prefix + "2"}, k.err
}

func (k kept) ActorsOf(context.Context, record.ActorFilter) ([]record.Actor, error) {
	return []record.Actor{it, young}, k.err
}

func (k kept) Nodes(context.Context) ([]record.Node, error) {
	return []record.Node{{ID: ids.Node{2}, State: record.NodeAlive, Hostname: "a"}, {ID: ids.Node{5}, State: record.NodeDead}}, k.err
}

func (k kept) Jobs(context.Context) ([]record.Job, error) {
	return []record.Job{{ID: ids.JobOf(1), State: record.JobRunning, Entrypoint: "prog.py"}}, k.err
}

func message(t *testing.T, kind wire.Type, body any) *wire.Message {
	t.Helper()
	b, err := msgpack.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return &wire.Message{Kind: wire.Request, Type: kind, Body: b}
}

type answer func(context.Context, Reads, *wire.Message) (any, error)

// What the head has is answered, also when it is nothing; a head that fails is never taken for
// one that has nothing; a message that is no request of its kind is refused.
func TestAnswers_WhatTheHeadHas_OrItsError(t *testing.T) {
	down := fault.New(fault.HeadUnavailable, "no path")
	named, names := wire.ActorNamed{ActorID: it.ID[:], Meta: it.Meta}, []wire.ActorName{{Name: "it", Namespace: "ns"}}
	for _, c := range []struct {
		name string
		ask  answer
		m    *wire.Message
		want any
		err  error
	}{
		{"a value", Value, message(t, wire.TKVGet, wire.KVKey{Namespace: "ns", Key: []byte("key")}), []byte("v"), nil},
		{"an empty value", Value, message(t, wire.TKVGet, wire.KVKey{Namespace: "ns", Key: []byte("empty")}), []byte{}, nil},
		{"no value", Value, message(t, wire.TKVGet, wire.KVKey{Namespace: "ns", Key: []byte("x")}), nil, nil},
		{"keys", Keys, message(t, wire.TKVKeys, wire.KVKey{Namespace: "ns", Key: []byte("k")}), [][]byte{[]byte("k1"), []byte("k2")}, nil},
		{"no keys", Keys, message(t, wire.TKVKeys, wire.KVKey{}), [][]byte{}, nil},
		{"an actor", ActorByName, message(t, wire.TActorByName, wire.ActorByName{Namespace: "ns", Name: "it"}), named, nil},
		{"no actor", ActorByName, message(t, wire.TActorByName, wire.ActorByName{Namespace: "ns", Name: "x"}), nil, record.ErrNotFound},
		{"names", ActorNames, message(t, wire.TActorNames, wire.ActorNames{All: true}), names, nil},
	} {
		if got, err := c.ask(t.Context(), kept{}, c.m); !reflect.DeepEqual(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
		if got, err := c.ask(t.Context(), kept{err: down}, c.m); got != nil || !errors.Is(err, down) {
			t.Errorf("%s of a head that fails: got %v, %v", c.name, got, err)
		}
		if got, err := c.ask(t.Context(), kept{}, &wire.Message{Type: c.m.Type, Body: []byte{0xc1}}); got != nil || err == nil {
			t.Errorf("%s asked for wrongly: got %v, %v", c.name, got, err)
		}
	}
}

func TestRows_OfRecords_OrTheirError(t *testing.T) {
	nodes, err := Nodes(t.Context(), kept{})
	if err != nil || len(nodes) != 2 || !nodes[0].Alive || nodes[1].Alive || nodes[0].Hostname != "a" {
		t.Errorf("got %+v, %v", nodes, err)
	}
	actors, err := Actors(t.Context(), kept{})
	if err != nil || len(actors) != 2 || actors[0].State != "ALIVE" || actors[0].NodeID[0] != 2 || actors[0].WorkerID[0] != 3 {
		t.Errorf("got %+v, %v", actors, err)
	}
	if len(actors) == 2 && (actors[1].State != "PENDING_CREATION" || actors[1].NodeID != nil || actors[1].WorkerID != nil) {
		t.Errorf("an actor that is not placed has a place: %+v", actors[1])
	}
	jobs, err := Jobs(t.Context(), kept{}, func(j *record.Job) { j.State = record.JobLost })
	if err != nil || len(jobs) != 1 || jobs[0].State != "LOST" || jobs[0].Entrypoint != "prog.py" {
		t.Errorf("got %+v, %v", jobs, err)
	}
	down := fault.New(fault.HeadUnavailable, "no path")
	nodes, err1 := Nodes(t.Context(), kept{err: down})
	actors, err2 := Actors(t.Context(), kept{err: down})
	jobs, err3 := Jobs(t.Context(), kept{err: down}, func(*record.Job) {})
	if nodes != nil || actors != nil || jobs != nil || err1 == nil || err2 == nil || err3 == nil {
		t.Errorf("a head that fails: %v %v, %v %v, %v %v", nodes, err1, actors, err2, jobs, err3)
	}
}
