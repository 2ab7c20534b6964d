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

// opened returns a head over a state of its own, whose actors start at once.
func opened(b *testing.B) *head.Head {
	b.Helper()
	s, err := raftstate.Open(raftstate.Options{ID: "a"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	p := &instant{}
	h, err := head.Open(head.Options{State: s, Placer: p, Groups: noGroups{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(h.Close)
	p.started = h.ActorStarted
	return h
}

// BenchmarkHead_ActorLife measures what the head adds to an actor's start and
// end in an embedded session: create, place, resolve, kill.
func BenchmarkHead_ActorLife(b *testing.B) {
	h := opened(b)
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

// BenchmarkHead_OwnerEnds measures what the head does when a process ends, in a cluster of 10,000
// actors of another process. A process without actors is not reported to the head at all; the
// number shows what it would cost.
func BenchmarkHead_OwnerEnds(b *testing.B) {
	h := opened(b)
	ctx, job, many := context.Background(), ids.JobOf(1), ids.Owner{1}
	create := func(owner ids.Owner) {
		if err := h.CreateActor(ctx, record.Actor{ID: ids.NewActor(job), Job: job, Owner: owner, ClassName: "Counter", Spec: make([]byte, 500)}); err != nil {
			b.Fatal(err)
		}
	}
	for range 10_000 {
		create(many)
	}
	if err := h.AwaitReports(ctx); err != nil {
		b.Fatal(err)
	}
	for name, actors := range map[string]int{"without actors": 0, "with one actor": 1} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				owner := ids.NewWorkerOn(1).Owner()
				for range actors {
					create(owner)
				}
				if err := h.AwaitReports(ctx); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				h.OwnerDied(owner)
				if err := h.AwaitReports(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
