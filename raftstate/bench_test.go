package raftstate

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// BenchmarkOpen measures an embedded session's state: open, lead, close.
func BenchmarkOpen(b *testing.B) {
	var leading time.Duration
	for b.Loop() {
		start := time.Now()
		n, err := Open(Options{ID: "a"})
		if err != nil {
			b.Fatal(err)
		}
		if err := n.WaitLeader(context.Background()); err != nil {
			b.Fatal(err)
		}
		leading += time.Since(start)
		if err := n.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(leading.Microseconds())/float64(b.N), "µs/leader")
}

// BenchmarkApply measures one command after the other on an embedded member.
func BenchmarkApply(b *testing.B) {
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, ctx := range map[string]context.Context{"plain": context.Background(), "cancellable": cancellable} {
		b.Run(name, func(b *testing.B) {
			n := openLone(b)
			for i := 0; b.Loop(); i++ {
				if _, err := n.PutKV(ctx, "bench", fmt.Sprint(i%1000), []byte("value"), true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApply_Parallel measures commands from many goroutines.
func BenchmarkApply_Parallel(b *testing.B) {
	n := openLone(b)
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := n.PutKV(context.Background(), "bench", "key", []byte("value"), true); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkActorLife measures the four commands of an actor's life.
func BenchmarkActorLife(b *testing.B) {
	n, ctx := openLone(b), context.Background()
	for b.Loop() {
		a := record.Actor{ID: ids.NewActor(ids.JobOf(1)), ClassName: "Counter", Resources: record.Resources{"CPU": 10000}, Spec: make([]byte, 500)}
		i := record.Instance{Actor: a.ID, Incarnation: 1, Worker: ids.NewWorkerOn(1), Address: "/tmp/s/w1"}
		for _, err := range []error{
			n.RegisterActor(ctx, a), n.ActorPlaced(ctx, i), n.ActorAlive(ctx, i, 1),
			n.ActorDead(ctx, a.ID, 0, record.Cause{Reason: record.Released}, 2),
		} {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkMachine measures the machine without raft.
func BenchmarkMachine(b *testing.B) {
	m := NewMachine()
	data, err := encode(Command{Request: RequestID{Client: Client{1}, Seq: 1}, Body: &KVPut{"bench", "key", []byte("value"), true}})
	if err != nil {
		b.Fatal(err)
	}
	for i := uint64(1); b.Loop(); i++ {
		c, err := decode(data)
		if err != nil {
			b.Fatal(err)
		}
		c.Request.Seq = i
		m.Apply(i, c)
	}
}

// BenchmarkSnapshot measures a state of 10,000 actors and 2,000 nodes: the copy, for which commands wait, then writing and reading.
func BenchmarkSnapshot(b *testing.B) {
	m := NewMachine()
	spec := make([]byte, 1000)
	for i := range uint64(10_000) {
		for j := range spec {
			spec[j] = byte(int(i) * (j + 7) >> (j % 5))
		}
		m.Apply(i+1, Command{Body: &RegisterActor{record.Actor{
			ID: ids.NewActor(ids.JobOf(1)), Name: fmt.Sprint("actor-", i), Namespace: "bench", ClassName: "Trainer",
			Resources: record.Resources{"CPU": 10000, "GPU": 10000}, Spec: bytes.Clone(spec), Meta: bytes.Clone(spec[:200]),
		}}})
	}
	for i := range uint64(2000) {
		m.Apply(10_001+i, Command{Body: &RegisterNode{record.Node{
			ID: ids.NewNode(), Name: fmt.Sprint("node-", i), Hostname: fmt.Sprintf("host-%d.cluster.example", i), Number: uint32(i + 1), Links: []string{"10.0.0.1:6379"},
			Resources: record.Resources{"CPU": 640_000, "GPU": 80_000, "memory": 1 << 50}, Labels: map[string]string{"zone": "a"},
		}}})
	}
	b.Run("clone", func(b *testing.B) {
		for b.Loop() {
			m.clone()
		}
	})
	written := snapshot(b, m)
	b.Run("write", func(b *testing.B) {
		begun := processorTime(b)
		for b.Loop() {
			snapshot(b, m)
		}
		b.ReportMetric(float64(len(written)), "bytes")
		b.ReportMetric(float64((processorTime(b)-begun).Milliseconds())/float64(b.N), "cpu-ms/op")
	})
	b.Run("read", func(b *testing.B) {
		begun := processorTime(b)
		for b.Loop() {
			if _, err := ReadSnapshot(bytes.NewReader(written)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64((processorTime(b)-begun).Milliseconds())/float64(b.N), "cpu-ms/op")
	})
}

// BenchmarkActorsOf measures what the end of a process asks of a state with 10,000 actors.
func BenchmarkActorsOf(b *testing.B) {
	m := tenThousand()
	for name, f := range map[string]record.ActorFilter{
		"of one owner": {Owner: ids.Owner{1, 1}, Live: true, Bound: true},
		"of nobody":    {Owner: ids.Owner{0, 0, 1}, Live: true, Bound: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.ActorsOf(f)
			}
		})
	}
}

// tenThousand returns a machine with 10,000 actors of 1,000 owners.
func tenThousand() *Machine {
	m := NewMachine()
	for i := range uint64(10_000) {
		m.Apply(i+1, Command{Body: &RegisterActor{record.Actor{
			ID: ids.NewActor(ids.JobOf(1)), Owner: ids.Owner{byte(i % 250), byte(i % 4)}, ClassName: "Counter",
			Resources: record.Resources{"CPU": 10000}, Spec: make([]byte, 500),
		}}})
	}
	return m
}

// processorTime is what this process has computed: on a busy machine it says more than a clock.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
