package raftstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

func TestNode_SingleMember_KeepsWhatItIsTold(t *testing.T) {
	ctx, n := testContext(t), openLone(t)
	job, err := n.StartJob(ctx, record.Job{Entrypoint: "train.py"})
	if err != nil || job != ids.JobOf(1) {
		t.Fatalf("got job %s, %v", job, err)
	}
	a := record.Actor{ID: ids.Actor{1}, Name: "n", Namespace: "ns", Job: job, Resources: record.Resources{"CPU": 10000}}
	if err := n.RegisterActor(ctx, a); err != nil {
		t.Fatal(err)
	}
	var taken *record.NameTakenError
	err = n.RegisterActor(ctx, record.Actor{ID: ids.Actor{2}, Name: "n", Namespace: "ns"})
	if !errors.As(err, &taken) || taken.Existing != a.ID || !errors.Is(err, record.ErrNameTaken) || fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("got %v", err)
	}
	if got, ok := n.ActorNamed("ns", "n"); !ok || got.ID != a.ID || got.Resources["CPU"] != 10000 {
		t.Errorf("got %+v, %v", got, ok)
	}
	if err := n.RegisterNode(ctx, record.Node{ID: ids.Node{1}, Labels: map[string]string{"zone": "a"}}); err != nil {
		t.Fatal(err)
	}
	if got, ok := n.Node(ids.Node{1}); !ok || got.Labels["zone"] != "a" || len(n.ListNodes()) != 1 {
		t.Errorf("got %+v, %v", got, ok)
	}
	if err := n.PutSetting(ctx, "token", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if v, ok := n.Setting("token"); !ok || string(v) != "secret" {
		t.Errorf("got %q, %v", v, ok)
	}
	for _, k := range []string{"b", "ab", "aa"} {
		if added, err := n.PutKV(ctx, "ns", k, []byte(k), false); err != nil || !added {
			t.Errorf("got %v, %v", added, err)
		}
	}
	if keys := fmt.Sprint(n.KVKeys("ns", "a")); keys != "[aa ab]" {
		t.Errorf("got %s", keys)
	}
	if deleted, err := n.DelKV(ctx, "ns", "a", true); err != nil || deleted != 2 {
		t.Errorf("got %d, %v", deleted, err)
	}
}

func TestNode_WrongArgument_NeverReachesTheLog(t *testing.T) {
	ctx, n := testContext(t), openLone(t)
	before := n.raft.LastIndex()
	for name, err := range map[string]error{
		"no id":        n.RegisterActor(ctx, record.Actor{}),
		"max_restarts": n.RegisterActor(ctx, record.Actor{ID: ids.Actor{1}, MaxRestarts: -2}),
		"no address":   n.ActorAlive(ctx, record.Instance{Actor: ids.Actor{1}}, 0),
		"job state":    n.EndJob(ctx, ids.JobOf(1), record.JobRunning, "", 0),
		"no node id":   n.RegisterNode(ctx, record.Node{}),
		"no name":      n.PutSetting(ctx, "", nil),
	} {
		if !errors.Is(err, record.ErrInvalid) || fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err := n.PutKV(ctx, "ns", "big", make([]byte, MaxCommandBytes), true)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if after := n.raft.LastIndex(); after != before {
		t.Errorf("the log grew from %d to %d", before, after)
	}
}

func TestNode_ContextEnded_IsNotApplied(t *testing.T) {
	n := openLone(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := n.PutKV(ctx, "ns", "k", nil, true)
	if !errors.Is(err, context.Canceled) || errors.Is(err, record.ErrMayHaveBeenApplied) {
		t.Errorf("got %v", err)
	}
	if _, ok := valueOf(t, n, "ns", "k"); ok {
		t.Error("it was applied")
	}
}

func TestNode_Closed_SaysSo(t *testing.T) {
	n, err := Open(Options{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	if err := n.WaitLeader(ctx); err != nil {
		t.Fatal(err)
	}
	var watchers sync.WaitGroup
	watchers.Go(func() {
		for at := n.Now(); ; {
			b, err := n.Watch(ctx, at)
			if err != nil {
				if !errors.Is(err, record.ErrClosed) {
					t.Errorf("watch: got %v", err)
				}
				return
			}
			at = b.Next
		}
	})
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() { // no write hangs or is lost over a close
			for {
				if _, err := n.PutKV(ctx, "ns", "k", nil, true); err != nil {
					if !errors.Is(err, record.ErrClosed) {
						t.Errorf("put: got %v", err)
					}
					return
				}
			}
		})
	}
	var closers sync.WaitGroup
	for range 2 {
		closers.Go(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closers.Wait()
	watchers.Wait()
	writers.Wait()
	if err := n.WaitLeader(ctx); err != nil && !errors.Is(err, record.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestNode_LongLog_IsCompacted(t *testing.T) {
	ctx := testContext(t)
	for name, stores := range map[string]Stores{"nobody reads the snapshot": {}, "it is kept": NewMemoryStores()} {
		t.Run(name, func(t *testing.T) {
			n, err := Open(Options{ID: "a", Stores: stores, compactBytes: 1 << 16})
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; n.raft.Stats()["last_snapshot_index"] == "0"; i++ {
				if _, err := n.PutKV(ctx, "ns", fmt.Sprint(i%3), make([]byte, 1<<11), true); err != nil {
					t.Fatal("no snapshot was taken:", err)
				}
			}
			if err := n.Close(); err != nil { // waits for the snapshot to shorten the log
				t.Fatal(err)
			}
			if stores.Log == nil {
				return
			}
			if first, _ := stores.Log.FirstIndex(); first < 2 {
				t.Errorf("the log still begins at %d", first)
			}
		})
	}
}

func TestNode_OpenedAgainOnItsStores_GoesOn(t *testing.T) {
	ctx, s := testContext(t), NewMemoryStores()
	want := map[string]string{}
	for round := range 3 {
		n, err := Open(Options{ID: "a", Stores: s})
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			// The new leader's first commit shows all that was committed.
			if added, err := n.PutKV(ctx, "ns", k, nil, false); err != nil || added {
				t.Fatalf("round %d: key %s is gone, %v", round, k, err)
			}
			if got, ok := valueOf(t, n, "ns", k); !ok || string(got) != v {
				t.Fatalf("round %d: got %s=%q", round, k, got)
			}
		}
		k := fmt.Sprint("key", round)
		want[k] = strings.Repeat(k, 10)
		if _, err := n.PutKV(ctx, "ns", k, []byte(want[k]), true); err != nil {
			t.Fatal(err)
		}
		if round == 1 {
			if err := n.raft.Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNode_UnknownCommandInTheLog_StopsTheMember(t *testing.T) {
	ctx, n := testContext(t), openLone(t)
	at := n.Now()
	if err := n.raft.Apply([]byte{0x95, 99}, 0).Error(); err != nil {
		t.Fatal(err)
	}
	for {
		b, err := n.Watch(ctx, at)
		if errors.Is(err, record.ErrClosed) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		at = b.Next
	}
	if err := n.Err(); !errors.Is(err, ErrUnknownCommand) {
		t.Errorf("got %v", err)
	}
	if _, err := n.PutKV(ctx, "ns", "k", nil, true); !errors.Is(err, ErrUnknownCommand) {
		t.Errorf("got %v", err)
	}
	if _, err := n.Forwarded(ctx, nil); !errors.Is(err, ErrUnknownCommand) {
		t.Errorf("got %v", err)
	}
}

func TestOptions_Wrong_SaysSo(t *testing.T) {
	for want, o := range map[string]Options{
		"has no id":              {},
		"transport and a forw":   {ID: "a", Voters: []Voter{{"a", "a"}, {"b", "b"}}},
		"all three":              {ID: "a", Stores: Stores{Log: NewMemoryStores().Log}},
		"kept events":            {ID: "a", KeptEvents: -1},
		"HeartbeatTimeout is to": {ID: "a", Timing: Timing{1, 1, 1, 1}},
	} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestNode_Log_IsQuietForASingleMember(t *testing.T) {
	var log bytes.Buffer
	n, err := Open(Options{ID: "a", LogOutput: &log})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.WaitLeader(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("it said %s", log.String())
	}
}

// A change under the name of a sender's request is applied once, and its repetition gets the first answer, also by a
// node that was opened again on the same stores.
func TestNode_NamedRequestIsRepeated_IsAppliedOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stores := NewMemoryStores()
	open := func() *Node {
		n, err := Open(Options{ID: "a", Stores: stores})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first, second := record.Request{Client: [16]byte{1}, Number: 1}, record.Request{Client: [16]byte{1}, Number: 2}
	n := open()
	for range 2 {
		if added, err := n.PutKV(first.With(ctx), "ns", "key", []byte("a"), false); err != nil || !added {
			t.Errorf("the first request: got %v, %v", added, err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = open()
	defer n.Close()
	if added, err := n.PutKV(second.With(ctx), "ns", "key", []byte("b"), true); err != nil || added {
		t.Errorf("the second request: got %v, %v", added, err)
	}
	if added, err := n.PutKV(first.With(ctx), "ns", "key", []byte("a"), false); err != nil || !added {
		t.Errorf("the first request, after a restart: got %v, %v", added, err)
	}
	if v, _ := valueOf(t, n, "ns", "key"); string(v) != "b" {
		t.Errorf("the value is %q", v)
	}
}
