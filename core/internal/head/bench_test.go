package head_test

import (
	"context"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// instant starts what it is asked to place at once.
type instant struct{ started func(record.Instance) }

func (p *instant) PlaceActor(a record.Actor) {
	p.started(record.Instance{Actor: a.ID, Incarnation: a.Incarnation, Worker: ids.Worker{1}, Address: "/s"})
}

func (p *instant) StopActor(record.Instance, head.Stop) {}

// BenchmarkHead_ActorLife measures what the head adds to an actor's start and
// end in an embedded session: create, place, resolve, kill.
func BenchmarkHead_ActorLife(b *testing.B) {
	s, err := raftstate.Open(raftstate.Options{ID: "a"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	p := &instant{}
	h, err := head.Open(head.Options{State: s, Placer: p})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	p.started = h.ActorStarted
	ctx := context.Background()
	for b.Loop() {
		a := record.Actor{ID: ids.NewActor(ids.JobOf(1)), ClassName: "Counter", Spec: make([]byte, 500)}
		if err := h.CreateActor(ctx, a); err != nil {
			b.Fatal(err)
		}
		if r, err := h.ResolveWait(ctx, a.ID, 0); err != nil || r.State != record.ActorAlive {
			b.Fatal(r, err)
		}
		if err := h.KillActor(ctx, a.ID, true); err != nil {
			b.Fatal(err)
		}
	}
}
