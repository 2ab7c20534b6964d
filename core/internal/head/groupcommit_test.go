package head_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// unsure is a state that does not know at first whether it has noted where a group is.
type unsure struct {
	head.State
	mu     sync.Mutex
	fails  int
	stores bool // it has noted it all the same
}

func (s *unsure) PlaceGroup(ctx context.Context, id ids.Group, epoch uint64, nodes []ids.Node, atMs int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.fails == 0 || s.stores {
		err = s.State.PlaceGroup(ctx, id, epoch, nodes, atMs)
	}
	if s.fails > 0 {
		s.fails--
		return record.ErrMayHaveBeenApplied
	}
	return err
}

// opener tells what is asked of it.
type opener chan string

func (o opener) PlaceGroup(record.Group)      { o <- "place" }
func (o opener) RetryGroup(ids.Group, uint64) { o <- "retry" }
func (o opener) OpenGroup(record.Group)       { o <- "open" }
func (o opener) DropGroup(record.Group)       { o <- "drop" }

// Where a group is must be known to be committed or not, before anything is taken back: the head tries until it knows.
func TestGroupPrepared_NotKnownWhetherItIsCommitted_IsTriedAgain(t *testing.T) {
	for name, stores := range map[string]bool{"it was not": false, "it was": true} {
		t.Run(name, func(t *testing.T) {
			ctx := within(t)
			s := &unsure{State: openState(t, raftstate.Options{}), fails: 2, stores: stores}
			var mu sync.Mutex
			var log bytes.Buffer
			o := make(opener, 100)
			h, err := head.Open(head.Options{State: s, Placer: newPlacer(), Groups: o, Log: slog.New(slog.NewTextHandler(&locked{&mu, &log}, nil))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.Close)
			node, id := ids.Node{1}, ids.Group{1}
			g := record.Group{ID: id, Strategy: "PACK", Bundles: []record.Bundle{{Resources: record.Resources{"CPU": 1}}}}
			if err := errors.Join(h.RegisterNode(ctx, record.Node{ID: node}), h.CreateGroup(ctx, g)); err != nil {
				t.Fatal(err)
			}
			if got := receive(t, ctx, "the order to place it", o); got != "place" {
				t.Fatalf("it is asked to %s", got)
			}
			h.GroupPrepared(id, 1, []ids.Node{node})
			if got := receive(t, ctx, "the order to open it", o); got != "open" {
				t.Errorf("it is asked to %s", got)
			}
			if g, err := h.Group(ctx, id); err != nil || g.State != record.GroupCreated || !g.On(node) {
				t.Errorf("the group is %+v, %v", g, err)
			}
			// The tries that are still to come change nothing.
			for {
				s.mu.Lock()
				left := s.fails
				s.mu.Unlock()
				if left == 0 {
					break
				}
				if err := h.AwaitReports(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.AwaitReports(ctx); err != nil || len(o) != 0 {
				t.Errorf("%d more orders, %v", len(o), err)
			}
			mu.Lock()
			defer mu.Unlock()
			if n := strings.Count(log.String(), "could not be committed"); n != 2 {
				t.Errorf("the log has %d lines of it: %s", n, log.String())
			}
		})
	}
}

// locked is a writer that several goroutines use.
type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
