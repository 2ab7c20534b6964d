package actorends

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// on is an incarnation that has an address on a node.
func on(number uint32, incarnation uint64) record.Instance {
	return record.Instance{Actor: theActor, Incarnation: incarnation, Address: wire.AddressOf(ids.Owner{0, 0, 0, byte(number), 9})}
}

func TestWhen_RanElsewhere_ThatNodeAnswersWhenItsProcessIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := two(t)
		id := ID{theActor, 1}
		b.Begin(id)
		b.Keep(id, begun(t, 4))
		var told []End
		a.when(on(there, 1), caller, func(e End) { told = append(told, e) })
		if synctest.Wait(); len(told) != 0 {
			t.Fatalf("told before the process was gone: %+v", told)
		}
		b.End(id, "it was killed")
		if synctest.Wait(); len(told) != 1 || told[0] != (End{Known: true, Started: 4, Detail: "it was killed"}) {
			t.Errorf("told %+v", told)
		}
	})
}

func TestWhen_NodeCannotBeAsked_NothingIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unreachable := newNode(here, network{})
		a, b := two(t)
		b.Begin(ID{theActor, 1}) // it never ends, and the connection breaks instead
		n := 0
		for _, x := range []*node{unreachable, a} {
			x.when(on(there, 1), caller, func(e End) {
				if n++; e != (End{}) {
					t.Errorf("told %+v", e)
				}
			})
			synctest.Wait()
		}
		a.o.Network.(network).to.Close()
		if synctest.Wait(); n != 2 {
			t.Errorf("%d of 2 were told", n)
		}
	})
}

func TestWhen_NeverHadAnAddress_IsLookedForHere(t *testing.T) {
	x := newNode(here, network{})
	told := 0
	x.when(record.Instance{Actor: theActor, Incarnation: 1}, caller, func(e End) { told++ })
	if told != 1 {
		t.Errorf("told %d times of an incarnation that nobody has heard of", told)
	}
}

func TestAwaitGone_ProcessStays_EndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newNode(here, nil)
		id := ID{theActor, 1}
		x.Begin(id)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		start := time.Now()
		x.AwaitGone(ctx, on(here, 1))
		if time.Since(start) != time.Minute {
			t.Errorf("it waited for %v", time.Since(start))
		}
		time.AfterFunc(time.Second, func() { x.End(id, "") })
		start = time.Now()
		x.AwaitGone(context.Background(), on(here, 1))
		if time.Since(start) != time.Second {
			t.Errorf("it waited for %v, and the process ended after a second", time.Since(start))
		}
	})
}

func TestHandle_Nonsense_IsRefusedAndOtherMessagesAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newNode(there, nil)
		handled := make(chan bool, 1)
		to, _ := joined(t, func(m *wire.Message) {
			h := x.Handle(m)
			if handled <- h; !h {
				_ = m.Reply(nil)
			}
		})
		var got linkmsg.ActorEnd
		if err := to.Call(context.Background(), linkmsg.TActorEnd, "who ended?", &got); err == nil || !<-handled || x.complaints() != 1 {
			t.Errorf("nonsense: %v, with %d complaints", err, x.complaints())
		}
		if err := to.Call(context.Background(), wire.TActorLost, nil, nil); err != nil || <-handled {
			t.Errorf("another message was taken: %v", err)
		}
	})
}

func TestAsk_AnswerIsNonsense_NothingIsKnownAndItIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, _ := joined(t, func(m *wire.Message) { _ = m.Reply("what?") })
		a := newNode(here, network{to})
		n := 0
		a.when(on(there, 1), progress.Caller{}, func(e End) {
			if n++; e != (End{}) {
				t.Errorf("told %+v", e)
			}
		})
		if synctest.Wait(); n != 1 || a.complaints() != 1 {
			t.Errorf("told %d times, %d complaints", n, a.complaints())
		}
	})
}
