package raftstate

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
)

// heldLog is a log that can keep raft waiting.
type heldLog struct {
	raft.LogStore
	mu     sync.Mutex
	reads  int           // of entry index
	index  uint64        // its second read, which is the one before it is applied, waits; 0 for none
	stores bool          // storing waits
	waits  chan struct{} // closed when something waits
	open   chan struct{} // closed to let it go on
}

func (h *heldLog) hold() {
	close(h.waits)
	<-h.open
}

func (h *heldLog) GetLog(index uint64, out *raft.Log) error {
	h.mu.Lock()
	held := false
	if index == h.index {
		h.reads++
		held = h.reads == 2
	}
	h.mu.Unlock()
	if held {
		h.hold()
	}
	return h.LogStore.GetLog(index, out)
}

func (h *heldLog) StoreLogs(logs []*raft.Log) error {
	h.mu.Lock()
	held := h.stores
	h.stores = false
	h.mu.Unlock()
	if held {
		h.hold()
	}
	return h.LogStore.StoreLogs(logs)
}

func newHeldLog(stores *Stores, index uint64) *heldLog {
	h := &heldLog{LogStore: stores.Log, index: index, waits: make(chan struct{}), open: make(chan struct{})}
	stores.Log = h
	return h
}

// within waits for an event.
func within[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: nothing in %v", what, patience)
	}
	return v
}

// A new leader is shown to watchers only when its state has all that was
// committed: whoever acts on an older state would undo it.
func TestNode_Watch_LeadsOnlyWhenItsStateIsWhole(t *testing.T) {
	ctx, stores := testContext(t), NewMemoryStores()
	first, err := Open(Options{ID: "a", Stores: stores})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := first.PutKV(ctx, "ns", fmt.Sprint(i), nil, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	last, err := stores.Log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	log := newHeldLog(&stores, last-1) // the last one is read twice at the start
	n, err := Open(Options{ID: "a", Stores: stores})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	release := sync.OnceFunc(func() { close(log.open) })
	defer release()
	leads := make(chan error, 1)
	go func() {
		for at := n.Now(); ; {
			b, err := n.Watch(ctx, at)
			if err != nil || b.Leading {
				leads <- err
				return
			}
			at = b.Next
		}
	}()
	within(t, "raft applies the entry before the last", log.waits)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		if strings.Contains(stacks.String(), "(*Node).begin") {
			break // it knows that it leads, and waits for its state
		}
		select {
		case err := <-leads:
			t.Fatalf("it is said to lead without the last command, %v", err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the member does not hear that it leads")
		}
	}
	release()
	if err := within(t, "it leads", leads); err != nil {
		t.Fatal(err)
	}
	if _, ok := valueOf(t, n, "ns", "2"); !ok {
		t.Error("the last command is not applied")
	}
}

// A caller that gives up does not wait for the disk.
func TestNode_ContextEndsDuringACommand_ReturnsAtOnce(t *testing.T) {
	stores := NewMemoryStores()
	log := newHeldLog(&stores, 0)
	n, err := Open(Options{ID: "a", Stores: stores})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	if _, err := n.PutKV(testContext(t), "ns", "before", nil, true); err != nil {
		t.Fatal(err)
	}
	log.mu.Lock()
	log.stores = true
	log.mu.Unlock()
	release := sync.OnceFunc(func() { close(log.open) })
	defer release()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	put := make(chan error, 1)
	go func() {
		_, err := n.PutKV(ctx, "ns", "k", nil, true)
		put <- err
	}()
	within(t, "raft stores the command", log.waits)
	cancel()
	if err := within(t, "the caller returns", put); !errors.Is(err, context.Canceled) || !errors.Is(err, record.ErrMayHaveBeenApplied) {
		t.Errorf("got %v", err)
	}
	release()
	if _, err := n.PutKV(testContext(t), "ns", "after", nil, true); err != nil {
		t.Fatal(err)
	}
	if _, ok := valueOf(t, n, "ns", "k"); !ok {
		t.Error("the command that had left was dropped")
	}
}
