package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What the daemon says of an actor whose socket broke is what its calls come to,
// those that were sent and those that wait; a daemon that cannot say so is told, too.
func TestDeathKnown_Dead_CallsGetItsCause(t *testing.T) {
	for _, x := range []struct {
		answer any
		code   fault.Code
	}{
		{wire.ActorDeath{State: wire.ActorDead, Message: "these words"}, fault.ActorDied},
		{wire.ActorDeath{State: wire.ActorDead, Cause: string(fault.OutOfMemory), Message: "these words"}, fault.OutOfMemory},
		{fault.New(fault.BadRequest, "these words"), fault.BadRequest},
	} {
		d := startDaemon(t)
		a := d.mortal(0, true)
		d.answers(wire.TActorLost, func(m *wire.Message) bool {
			if err, fails := x.answer.(error); fails {
				_ = m.Fail(err)
			} else {
				_ = m.Reply(x.answer)
			}
			return true
		})
		c := d.driver()
		id := a.create(t, c)
		tm := method(t, c, -1)
		results := []ids.Object{callActor(t, c, id, tm, "0 1"), callActor(t, c, id, tm, "0 2")}
		<-a.runs
		close(a.ends)
		for _, ref := range results {
			if code, words, _ := faultIn(t, c, ref); code != x.code || !strings.Contains(words, "these words") {
				t.Errorf("%v: %s, %s", x.answer, code, words)
			}
		}
		late := callActor(t, c, id, tm, "0 3")
		if code, _, _ := faultIn(t, c, late); code != x.code {
			t.Errorf("%v: a later call: %s", x.answer, code)
		}
		letGo(t, c, append(results, late, c.ActorTokenID(id))...)
	}
}

// A call that was cancelled while it ran is cancelled when its actor dies, and is
// not tried again, whether the actor restarts or not.
func TestDeathKnown_CancelledCall_IsCancelled(t *testing.T) {
	for _, restarts := range []int{0, -1} {
		d := startDaemon(t)
		a := d.mortal(restarts, true)
		c := d.driver()
		id := a.create(t, c)
		ref := callActor(t, c, id, method(t, c, -1), "0 1")
		<-a.runs
		if err := c.Cancel(ref, false, false); err != nil {
			t.Fatal(err)
		}
		close(a.ends)
		expectOutcome(t, c, "the cancelled call", ref, "", fault.TaskCancelled)
		letGo(t, c, ref, c.ActorTokenID(id))
	}
}
