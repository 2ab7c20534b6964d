package head

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

func actor(b byte, state record.ActorState, incarnation uint64) record.Actor {
	return record.Actor{
		ID: ids.Actor{b}, ClassName: string(rune(b)), State: state, Incarnation: incarnation,
		Address: fmt.Sprintf("/s/%d", incarnation), Previous: record.Instance{Actor: ids.Actor{b}, Incarnation: incarnation - 1},
	}
}

func expect(t *testing.T, got []action, want ...string) {
	t.Helper()
	var lines []string
	for _, a := range got {
		lines = append(lines, a.String())
	}
	if g, w := strings.Join(lines, "; "), strings.Join(want, "; "); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}

func TestTracker_Follower_AnswersButStartsNothing(t *testing.T) {
	tr := newTracker()
	a := actor('A', record.ActorPending, 1)
	expect(t, tr.actor(&a, false))
	expect(t, tr.wait(&a, &waiter{name: "w"}))
	a.State, a.Released = record.ActorAlive, true
	expect(t, tr.actor(&a, false), "tell w: ALIVE incarnation 1 at /s/1")
	a.State, a.Cause.Reason = record.ActorDead, record.Killed
	expect(t, tr.wait(&a, &waiter{name: "v"}), "tell v: DEAD killed")
	expect(t, tr.actor(&a, false))
	if len(tr.actors) != 0 {
		t.Errorf("%d actors tracked after their death", len(tr.actors))
	}
}

func TestTracker_SameRecordTwice_ActsOnce(t *testing.T) {
	tr := newTracker()
	a := actor('A', record.ActorPending, 1)
	expect(t, tr.actor(&a, true), "place A incarnation 1")
	expect(t, tr.actor(&a, true))
	a.State, a.Released = record.ActorAlive, true
	expect(t, tr.actor(&a, true), "stop drain incarnation 1")
	expect(t, tr.actor(&a, true))
}

func TestTracker_LeadershipComesBack_AsksForEverythingAgain(t *testing.T) {
	tr := newTracker()
	pending, draining := actor('A', record.ActorPending, 1), actor('B', record.ActorAlive, 2)
	draining.Released = true
	all := []record.Actor{pending, draining}
	want := []string{"place A incarnation 1", "stop drain incarnation 2"}
	expect(t, tr.resync(all, true), want...)
	expect(t, tr.resync(all, true)) // events were missed, that is all
	tr.forgetPlaced()
	expect(t, tr.resync(all, false))
	tr.forgetPlaced()
	expect(t, tr.resync(all, true), want...)
}

func TestTracker_MissedRestarts_StopsWhatItStarted(t *testing.T) {
	tr := newTracker()
	a, b := actor('A', record.ActorPending, 1), actor('B', record.ActorPending, 1)
	tr.resync([]record.Actor{a, b}, true)
	a, b = actor('A', record.ActorRestarting, 4), actor('B', record.ActorDead, 3)
	a.Cause.Reason, b.Cause.Reason = record.WorkerDied, record.WorkerDied
	expect(t, tr.resync([]record.Actor{a, b}, true),
		"stop now incarnation 1", "place A incarnation 4", "stop now incarnation 1")
}

func TestTracker_EventsOlderThanResync_StartNothing(t *testing.T) {
	tr := newTracker()
	now := actor('A', record.ActorRestarting, 3)
	expect(t, tr.resync([]record.Actor{now}, true), "place A incarnation 3")
	for _, old := range []record.Actor{
		actor('A', record.ActorPending, 1), actor('A', record.ActorAlive, 1), actor('A', record.ActorRestarting, 2),
	} {
		expect(t, tr.actor(&old, true))
	}
}

func TestTracker_DeadBeforeItLooked_StopsNothing(t *testing.T) {
	tr := newTracker()
	a := actor('A', record.ActorDead, 1)
	a.Cause.Reason = record.Killed
	expect(t, tr.resync([]record.Actor{a}, true))
}

func TestTracker_RecordNoLongerKept_TellsDead(t *testing.T) {
	tr := newTracker()
	a := actor('A', record.ActorPending, 1)
	tr.wait(&a, &waiter{name: "w"})
	expect(t, tr.resync(nil, true), "tell w: DEAD its record is no longer kept")
	if len(tr.actors) != 0 {
		t.Error("the actor is still tracked")
	}
}

func TestTracker_RunsAfterAll_NoLongerUnschedulable(t *testing.T) {
	tr := newTracker()
	a := actor('A', record.ActorPending, 1)
	tr.actor(&a, true)
	expect(t, tr.infeasible(&a, 1, "needs 8 GPUs"))
	a.State = record.ActorAlive
	expect(t, tr.actor(&a, false)) // another head leads by now
	a.State, a.Incarnation = record.ActorRestarting, 2
	expect(t, tr.actor(&a, false))
	expect(t, tr.wait(&a, &waiter{name: "w", after: 1})) // the word was about the first incarnation
}
