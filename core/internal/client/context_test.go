package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// waitsWith starts a wait and ends its context as soon as it waits. It returns what the wait returns.
func waitsWith(t *testing.T, c *Client, wait func(ctx context.Context) error, waits func() bool) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- wait(ctx) }()
	waitFor(t, "it waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return waits()
	})
	cancel()
	select {
	case err := <-ended:
		return err
	case <-time.After(testLimit):
		t.Fatal("the end of the context does not end the wait")
		return nil
	}
}

// A context that ends during a wait ends it with the context's error, and nobody waits any more.
func TestWaitContext_ContextEndsMeanwhile_IsItsError(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := inStates(c, "pp")
	none := func(int, bool) {}
	watched := func() bool { return len(openWaits(c)) > 0 }
	err := waitsWith(t, c, func(ctx context.Context) error { return c.WaitContext(ctx, list, 1, none) }, watched)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("WaitContext: %v", err)
	}
	err = waitsWith(t, c, func(ctx context.Context) error {
		f, err := c.GetContext(ctx, list[1])
		if f != nil {
			t.Errorf("GetContext gives %+v", f)
		}
		return err
	}, func() bool { return len(objs[1].Waits()) > 0 })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("GetContext: %v", err)
	}
	// A wait that has what it needs ends without an error, and so does one for nothing.
	completeAll(c, objs[0])
	marked := 0
	if err := c.WaitContext(t.Context(), list, 1, func(i int, ready bool) {
		if ready && i == 0 {
			marked++
		}
	}); err != nil || marked != 1 {
		t.Errorf("a wait for one of two, of which one is ready: %v, marked %d times", err, marked)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.WaitContext(ended, list[:1], 1, none); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait with a context that has ended: %v", err)
	}
	c.Close(0)
	if err := c.WaitContext(t.Context(), list, 2, none); fault.CodeOf(err) != fault.Closed {
		t.Errorf("a wait in a session that has ended: %v", err)
	}
}

func TestNextItemContext_ContextEnds_IsItsError(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	gen := generator(t, c, 0, Flow{Mode: FlowStream})
	waits := func() bool {
		x, _, err := c.submit.Generators.Next(gen)
		return err == nil && len(x.Waits()) > 0
	}
	err := waitsWith(t, c, func(ctx context.Context) error {
		id, _, err := c.NextItemContext(ctx, gen)
		if id != (ids.Object{}) {
			t.Errorf("an item is %s", id)
		}
		return err
	}, waits)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What the daemon is asked, and told, fails with the reason when the session has ended.
func TestAsk_SessionEnds_TellsWhy(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	var stats wire.ObjStats
	if err := c.Ask(t.Context(), wire.TObjStats, nil, &stats); err != nil {
		t.Error(err)
	}
	refusal := fault.New(fault.NotFound, "there is none")
	d.answers(wire.TActorByName, func(m *wire.Message) bool {
		_ = m.Fail(refusal)
		return true
	})
	if err := c.Ask(t.Context(), wire.TActorByName, wire.ActorByName{}, nil); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the daemon's refusal is %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Ask(ended, wire.TObjStats, nil, &stats); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	told := make(chan wire.EnvSpec, 1)
	d.answers(wire.TEnvDefine, func(m *wire.Message) bool {
		var e wire.EnvSpec
		_ = m.Decode(&e)
		told <- e
		return true
	})
	if err := c.DefineEnv(wire.EnvSpec{Key: "k"}); err != nil {
		t.Error(err)
	}
	select {
	case e := <-told:
		if e.Key != "k" {
			t.Errorf("the daemon hears of %+v", e)
		}
	case <-time.After(testLimit):
		t.Fatal("the daemon does not hear of an environment")
	}
	c.Close(0)
	if err := c.DefineEnv(wire.EnvSpec{Key: "k"}); fault.CodeOf(err) != fault.Closed {
		t.Errorf("an environment for a session that has ended: %v", err)
	}
	if err := c.Ask(t.Context(), wire.TObjStats, nil, &stats); fault.CodeOf(err) != fault.Closed {
		t.Errorf("a question in a session that has ended: %v", err)
	}
}

// A service that leaves keeps what its program looks at: the daemon may use the arena's memory for something else then.
// What a driver's program looks at, and what nobody looks at, needs no memory of its own.
func TestCloseContext_ServiceLooksAtAnObject_ItsBytesStay(t *testing.T) {
	for role, keeps := range map[string]bool{wire.RoleService: true, wire.RoleDriver: false} {
		d := startDaemon(t)
		c, err := Connect(Options{Socket: d.sock(), Role: role})
		if err != nil {
			t.Fatal(err)
		}
		looked, other := putBytes(t, c, 2*MaxInline, 1), putBytes(t, c, 2*MaxInline, 3)
		f, err := c.Get(looked, testLimit)
		if err != nil || f.View == 0 {
			t.Fatal(f, err)
		}
		g, err := c.Get(other, testLimit)
		if err != nil || g.View == 0 {
			t.Fatal(g, err)
		}
		c.Release(Drop{View: g.View}) // nobody looks at it any more
		c.Close(0)
		e, err := store.Parse(f.Envelope)
		if err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		at := d.objects[string(looked[:])]
		d.mu.Unlock()
		if _, err := unix.Pwrite(d.fd, []byte{2}, int64(at.Offset+at.Size-1)); err != nil { // another object is written there
			t.Fatal(err)
		}
		want := byte(1)
		if !keeps {
			want = 2
		}
		if last := e.Bufs[0][2*MaxInline-1]; last != want {
			t.Errorf("after a %s has left its program sees the byte %d, want %d", role, last, want)
		}
		DropOrphans([]Drop{{View: f.View}})
	}
}
