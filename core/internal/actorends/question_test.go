package actorends

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// restarting is a record that says that the incarnation has ended and another one follows.
func restarting(ended record.Instance) record.Resolution {
	return record.Resolution{State: record.ActorRestarting, Actor: record.Actor{
		ID: theActor, ClassName: "Ledger", Incarnation: ended.Incarnation + 1, Previous: ended, Cause: record.Cause{Reason: record.WorkerDied, Message: "as the head heard it"},
	}}
}

func TestQuestion_Restarts_AnswerWaitsForTheProcessAndSaysWhatHadBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := two(t)
		for _, x := range []*node{a, b} {
			id, h := ID{theActor, 3}, &playedHead{}
			x.Begin(id)
			x.Keep(id, begun(t, 6))
			q := asks(t, a, h, id)
			h.done(restarting(on(x.o.Node, 3)), nil)
			if got := q.answered(); got != nil || !q.Done() || q.overs != 1 {
				t.Fatalf("node %d: answered %+v before the process was gone; done %v, over %d times", x.o.Node, got, q.Done(), q.overs)
			}
			x.End(id, "killed by signal 11")
			got := q.answered()
			if got == nil || got.err != nil || got.State != wire.ActorRestarting || !got.Known || got.Started != 6 ||
				!strings.Contains(got.Message, "Ledger") || !strings.Contains(got.Message, "killed by signal 11") {
				t.Errorf("node %d: %+v", x.o.Node, got)
			}
		}
	})
}

func TestQuestion_LaterIncarnationsHaveEndedToo_AnswersOfTheOneAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, h := newNode(here, nil), &playedHead{}
		first := ID{theActor, 1}
		x.Begin(first)
		x.Keep(first, begun(t, 2))
		x.End(first, "the first end")
		q := asks(t, x, h, first)
		h.done(restarting(on(there, 5)), nil)
		if got := q.answered(); got == nil || !got.Known || got.Started != 2 || !strings.Contains(got.Message, "the first end") {
			t.Errorf("%+v", got)
		}
	})
}

func TestQuestion_HeadSaysOtherwise_IsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := record.Resolution{State: record.ActorDead, Actor: record.Actor{ID: theActor, ClassName: "Ledger", Cause: record.Cause{Reason: record.Killed}}}
		for _, c := range []struct {
			r     record.Resolution
			err   error
			check func(*answer) bool
		}{
			{dead, nil, func(a *answer) bool {
				return a.State == wire.ActorDead && strings.Contains(a.Message, "Ledger") && a.err == nil
			}},
			{record.Resolution{}, fmt.Errorf("actor: %w", record.ErrNotFound), func(a *answer) bool {
				return a.State == wire.ActorDead && strings.Contains(a.Message, "ended long ago") && a.err == nil
			}},
			{record.Resolution{}, context.DeadlineExceeded, func(a *answer) bool {
				return fault.CodeOf(a.err) == fault.HeadUnavailable && strings.Contains(a.err.Error(), What)
			}},
		} {
			h := &playedHead{}
			q := asks(t, newNode(here, nil), h, ID{theActor, 1})
			h.done(c.r, c.err)
			if got := q.answered(); got == nil || !c.check(got) || !q.Done() {
				t.Errorf("%v, %v: %+v", c.r, c.err, got)
			}
		}
	})
}

func TestQuestion_IncarnationLivesOn_OnlyTheConnectionBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := two(t)
		for _, x := range []*node{a, b} {
			id := ID{theActor, 1}
			h := &playedHead{actor: record.Actor{ID: theActor, ClassName: "Ledger", State: record.ActorAlive, Incarnation: 1, Address: on(x.o.Node, 1).Address}}
			q := asks(t, a, h, id)
			time.Sleep(3*DeathWait + DeathWait/2)
			if got := q.answered(); got != nil {
				t.Fatalf("node %d: answered %+v of an incarnation that is neither alive nor dead", x.o.Node, got)
			}
			x.lives(id, 4711)
			time.Sleep(DeathWait)
			got := q.answered()
			if got == nil || got.err != nil || got.State != wire.ActorAlive || got.Cause != string(fault.ActorUnavailable) ||
				!strings.Contains(got.Message, "4711") || !strings.Contains(got.Message, "lives on") || !h.canceled || q.overs != 1 {
				t.Errorf("node %d: %+v; the head is waited for: %v, over %d times", x.o.Node, got, !h.canceled, q.overs)
			}
			x.lives(id, 0)
		}
	})
}

func TestQuestion_AnotherIncarnationLives_IsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := two(t)
		b.lives(ID{theActor, 2}, 1)
		h := &playedHead{actor: record.Actor{ID: theActor, State: record.ActorAlive, Incarnation: 2, Address: on(there, 2).Address}}
		q := asks(t, a, h, ID{theActor, 1})
		time.Sleep(10 * DeathWait)
		if got := q.answered(); got != nil {
			t.Errorf("answered %+v", got)
		}
		q.Cancel()
		q.Cancel()
		if !h.canceled || q.overs != 1 || !q.Done() {
			t.Errorf("after Cancel the head is waited for: %v; over %d times", !h.canceled, q.overs)
		}
	})
}

func TestQuestion_ForTheEndOfTheWholeActor_IsNotLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, h := newNode(here, nil), &playedHead{}
		id := ID{theActor, wire.ActorNever}
		x.lives(id, 1) // an answer would be wrong
		q := asks(t, x, h, id)
		time.Sleep(10 * DeathWait)
		if got := q.answered(); got != nil {
			t.Errorf("answered %+v", got)
		}
		q.Cancel()
	})
}
