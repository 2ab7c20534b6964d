package raftstate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
)

// brokenDisk is a guard whose disk fails when the test says so.
type brokenDisk struct{ failed chan struct{} }

var errDisk = errors.New("the disk of /state is full")

func (g brokenDisk) Failed() <-chan struct{} { return g.failed }

func (g brokenDisk) Err() error {
	select {
	case <-g.failed:
		return errDisk
	default:
		return nil
	}
}

func TestNode_StoresFail_ItStopsAndSaysWhy(t *testing.T) {
	g := brokenDisk{make(chan struct{})}
	stores := NewMemoryStores()
	stores.Guard = g
	n, err := Open(Options{ID: "a", Stores: stores})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := n.PutKV(ctx, "", "before", nil, true); err != nil || n.Err() != nil {
		t.Fatal(err, n.Err())
	}
	select {
	case <-n.Failed():
		t.Fatal("it stopped before its stores failed")
	default:
	}
	close(g.failed)
	select {
	case <-n.Failed():
	case <-ctx.Done():
		t.Fatal("it goes on after its stores failed")
	}
	if !errors.Is(n.Err(), errDisk) {
		t.Errorf("it stopped with %v", n.Err())
	}
	_, err = n.PutKV(ctx, "", "after", nil, true)
	if !errors.Is(err, errDisk) || errors.Is(err, record.ErrMayHaveBeenApplied) || !strings.Contains(err.Error(), "after") {
		t.Errorf("a change after that: %v", err)
	}
	if _, err := n.Watch(ctx, n.Now()); !errors.Is(err, record.ErrClosed) {
		t.Errorf("a watch after that: %v", err)
	}
}

// failingLog is the log of a brokenDisk: it stores nothing once the test says so.
type failingLog struct {
	raft.LogStore
	fails atomic.Bool
	once  sync.Once
	disk  brokenDisk
}

func (l *failingLog) StoreLogs(entries []*raft.Log) error {
	if l.fails.Load() {
		l.once.Do(func() { close(l.disk.failed) })
		return errDisk
	}
	return l.LogStore.StoreLogs(entries)
}

// A member that follows waits for the entry of its own fresh read, which its disk cannot store any more.
func TestNode_StoresFailDuringAFreshReadOfAFollower_ItStops(t *testing.T) {
	c := &cluster{t: t, ctx: testContext(t), net: NewMemoryNet(memberIDs...), nodes: map[string]*Node{}}
	logs := map[string]*failingLog{}
	defer func() {
		for _, n := range c.nodes {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	for _, id := range memberIDs {
		stores := NewMemoryStores()
		logs[id] = &failingLog{LogStore: stores.Log, disk: brokenDisk{make(chan struct{})}}
		stores.Log, stores.Guard = logs[id], logs[id].disk
		n, err := c.net.Open(id, Options{Timing: quick, Stores: stores, TrailingLogs: 100})
		if err != nil {
			t.Fatal(err)
		}
		c.nodes[id] = n
	}
	_, followers := c.leader("")
	f := followers[0]
	c.put(f, "before")
	logs[f.Self()].fails.Store(true)
	ctx, cancel := context.WithTimeout(c.ctx, patience/2)
	defer cancel()
	if err := f.Fresh(ctx); !errors.Is(err, errDisk) {
		t.Errorf("the fresh read: %v", err)
	}
	select {
	case <-f.Failed():
	case <-ctx.Done():
		t.Fatal("it goes on after its stores failed")
	}
}
