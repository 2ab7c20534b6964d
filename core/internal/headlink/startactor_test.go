package headlink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/record"
)

// newJudgedBehind returns a world whose node is connected and has a CPU, and whose head stands behind another one.
func newJudgedBehind(t *testing.T, wrap func(headlink.Head) headlink.Head) *judged {
	t.Helper()
	j := newJudged(t)
	j.wrap = wrap
	j.restartHead()
	j.connect()
	j.client.Stock(all(oneCPU))
	synctest.Wait()
	return j
}

// lossy is a head that has lost a large part of an actor's record.
type lossy struct {
	headlink.Head
	reads atomic.Int32
}

func (h *lossy) Actor(context.Context, ids.Actor) (record.Actor, error) {
	h.reads.Add(1)
	return record.Actor{}, fmt.Errorf("its environment: %w", record.ErrBlobLost)
}

func TestStart_PartOfTheRecordIsLost_ActorIsDeadAtOnceAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &lossy{}
		j := newJudgedBehind(t, func(inner headlink.Head) headlink.Head {
			h.Head = inner
			return h
		})
		if err := j.client.CreateActor(j.ctx, record.Actor{ID: ids.Actor{0xe}, Spec: []byte("s")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		a, _ := j.state.Actor(ids.Actor{0xe})
		if a.State != record.ActorDead || a.Cause.Reason != record.StartFailed || !strings.Contains(a.Cause.Message, "no head of the cluster has this large value any more") {
			t.Errorf("the actor is %s: %+v", a.State, a.Cause)
		}
		if n := h.reads.Load(); n != 1 {
			t.Errorf("what is lost was looked for %d times", n)
		}
	})
}

// unreadable is a head that cannot say for a while what it knows of actors.
type unreadable struct {
	headlink.Head
	failures atomic.Int32 // how many reads fail from now on
}

func (h *unreadable) Actor(ctx context.Context, id ids.Actor) (record.Actor, error) {
	if h.failures.Add(-1) >= 0 {
		return record.Actor{}, errors.New("the state is being read back")
	}
	return h.Head.Actor(ctx, id)
}

func TestStart_RecordCannotBeReadForAWhile_ActorStartsAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &unreadable{}
		j := newJudgedBehind(t, func(inner headlink.Head) headlink.Head {
			h.Head = inner
			return h
		})
		h.failures.Store(3)
		if err := j.client.CreateActor(j.ctx, record.Actor{ID: ids.Actor{0xe}, Spec: []byte("s")}); err != nil {
			t.Fatal(err)
		}
		placed := func() bool { return slices.Contains(j.node.said(), "place e#1 s") }
		synctest.Wait()
		if placed() {
			t.Fatalf("placed without its record; %d failures are left", h.failures.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !placed() || h.failures.Load() >= 0 {
			t.Errorf("after a second the node was told %q, and %d failures are left", j.node.said(), h.failures.Load())
		}
	})
}
