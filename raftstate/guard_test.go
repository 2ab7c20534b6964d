package raftstate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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
