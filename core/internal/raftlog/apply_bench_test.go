package raftlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// nothing is a state machine that does nothing: what is measured with it is raft and its stores.
type nothing struct{}

func (nothing) Apply(l *raft.Log) any                { return l.Index }
func (nothing) Restore(r io.ReadCloser) error        { return r.Close() }
func (nothing) Snapshot() (raft.FSMSnapshot, error)  { return nothing{}, nil }
func (nothing) Persist(sink raft.SnapshotSink) error { return sink.Close() }
func (nothing) Release()                             {}

// applier makes one change.
type applier func() error

// bareRaft starts raft alone as raftstate does: same stores, same timing, batches. It leads when this returns.
func bareRaft(b *testing.B, id string, stores raftstate.Stores, transport raft.Transport, voters []raftstate.Voter) *raft.Raft {
	b.Helper()
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(id)
	t := raftstate.DefaultTiming
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout, c.CommitTimeout = t.Heartbeat, t.Election, t.Lease, t.Commit
	c.SnapshotInterval, c.TrailingLogs, c.BatchApplyCh, c.NoLegacyTelemetry = time.Hour, 4096, true, true
	c.Logger = hclog.NewNullLogger()
	var servers []raft.Server
	for _, v := range voters {
		servers = append(servers, raft.Server{ID: raft.ServerID(v.ID), Address: raft.ServerAddress(v.Address)})
	}
	if err := raft.BootstrapCluster(c, stores.Log, stores.Stable, stores.Snapshots, transport, raft.Configuration{Servers: servers}); err != nil {
		b.Fatal(err)
	}
	r, err := raft.NewRaft(c, nothing{}, stores.Log, stores.Stable, stores.Snapshots, transport)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Shutdown().Error() })
	return r
}

// change is the command that is measured, and payload as many bytes as it has in the log.
const value, payload = "a value of some thirty-two bytes", 96

// round makes n changes by some clients at a time, and returns how many were made in a second.
func round(b *testing.B, clients, n int, apply applier) float64 {
	b.Helper()
	var all sync.WaitGroup
	begun := time.Now()
	failed := make(chan error, clients)
	for range clients {
		all.Go(func() {
			for range n / clients {
				if err := apply(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(begun)
	select {
	case err := <-failed:
		b.Fatal(err)
	default:
	}
	return float64(n/clients*clients) / took.Seconds()
}

// beside measures rounds of both in turn, and reports the median of each, and that of the ratio of neighbours.
func beside(b *testing.B, clients, n int, bare, ours applier) {
	b.Helper()
	round(b, clients, n, bare)
	round(b, clients, n, ours)
	var bares, all, ratios []float64
	for b.Loop() {
		x, y := round(b, clients, n, bare), round(b, clients, n, ours)
		bares, all, ratios = append(bares, x), append(all, y), append(ratios, x/y)
	}
	b.ReportMetric(median(bares), "bare/s")
	b.ReportMetric(median(all), "raftstate/s")
	b.ReportMetric(median(ratios), "ratio")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkApplyBesideBare measures a lone member on a disk: raft alone, and raftstate.
func BenchmarkApplyBesideBare(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d clients", clients), func(b *testing.B) {
			d := open(b, b.TempDir(), Options{Log: quiet})
			_, transport := raft.NewInmemTransport("a")
			r := bareRaft(b, "a", d.Stores(), transport, []raftstate.Voter{{ID: "a", Address: "a"}})
			data := make([]byte, payload)
			for r.State() != raft.Leader {
				<-r.LeaderCh()
			}
			n := lead(b, open(b, b.TempDir(), Options{Log: quiet}))
			ctx := b.Context()
			beside(b, clients, 200*clients,
				func() error { return r.Apply(data, 0).Error() },
				func() error { _, err := n.PutKV(ctx, "bench", "key", []byte(value), true); return err })
		})
	}
}

// group is three members in this process, which talk over TCP.
type group struct {
	ids        []string
	transports map[string]*raft.NetworkTransport
	voters     []raftstate.Voter
	nodes      map[string]*raftstate.Node
}

func newGroup(b *testing.B) *group {
	g := &group{ids: []string{"a", "b", "c"}, transports: map[string]*raft.NetworkTransport{}, nodes: map[string]*raftstate.Node{}}
	for _, id := range g.ids {
		t, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, 10*time.Second, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = t.Close() })
		g.transports[id] = t
		g.voters = append(g.voters, raftstate.Voter{ID: id, Address: string(t.LocalAddr())})
	}
	return g
}

// Forward implements raftstate.Forwarder: the members are in one process.
func (g *group) Forward(ctx context.Context, id, _ string, command []byte) ([]byte, error) {
	return g.nodes[id].Forwarded(ctx, command)
}

// BenchmarkThreeMembers measures 16 clients of three members with a log on disk each, over TCP: raft alone, and raftstate.
// The clients ask the leader, as they ask raft alone, or the members in turn.
func BenchmarkThreeMembers(b *testing.B) {
	for _, where := range []string{"at the leader", "at all members"} {
		b.Run(where, func(b *testing.B) {
			bare := newGroup(b)
			var raftLeader *raft.Raft
			var rafts []*raft.Raft
			for _, id := range bare.ids {
				rafts = append(rafts, bareRaft(b, id, open(b, b.TempDir(), Options{Log: quiet}).Stores(), bare.transports[id], bare.voters))
			}
			for raftLeader == nil {
				for _, r := range rafts {
					if r.State() == raft.Leader {
						raftLeader = r
					}
				}
				time.Sleep(time.Millisecond)
			}
			ours := newGroup(b)
			for _, id := range ours.ids {
				n, err := raftstate.Open(raftstate.Options{
					ID: id, Voters: ours.voters, Transport: ours.transports[id], Forwarder: ours,
					Stores: open(b, b.TempDir(), Options{Log: quiet}).Stores(),
				})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = n.Close() })
				ours.nodes[id] = n
			}
			for _, n := range ours.nodes {
				if err := n.WaitLeader(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			asked := make(chan string, 1024) // whom the next change asks
			next := func() *raftstate.Node {
				if where == "at the leader" {
					return ours.nodes[ours.nodes["a"].Leader()]
				}
				id := <-asked
				asked <- id
				return ours.nodes[id]
			}
			for _, id := range ours.ids {
				asked <- id
			}
			data, ctx := make([]byte, payload), b.Context()
			beside(b, 16, 1600,
				func() error { return raftLeader.Apply(data, 0).Error() },
				func() error { _, err := next().PutKV(ctx, "bench", "key", []byte(value), true); return err })
		})
	}
}

// residentKiB is how much memory this process has.
func residentKiB(b *testing.B) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkLargeState measures a member with 10,000 actors and 2,000 nodes on a disk: its memory, and how long it takes until
// a restarted one leads with all of it.
func BenchmarkLargeState(b *testing.B) {
	dir, ctx := b.TempDir(), b.Context()
	d := open(b, dir, Options{Log: quiet})
	n := lead(b, d)
	job, err := n.StartJob(ctx, record.Job{Entrypoint: "train.py", Driver: ids.NewWorkerOn(1).Owner()})
	if err != nil {
		b.Fatal(err)
	}
	parallel := func(count int, do func(i int) error) {
		next := make(chan int)
		var all sync.WaitGroup
		failed := make(chan error, count)
		for range 64 {
			all.Go(func() {
				for i := range next {
					if err := do(i); err != nil {
						failed <- err
					}
				}
			})
		}
		for i := range count {
			next <- i
		}
		close(next)
		all.Wait()
		select {
		case err := <-failed:
			b.Fatal(err)
		default:
		}
	}
	var nodes []ids.Node
	for range 2000 {
		nodes = append(nodes, ids.NewNode())
	}
	parallel(len(nodes), func(i int) error { return n.RegisterNode(ctx, largeNode(nodes[i], i)) })
	parallel(10_000, func(i int) error {
		a, at := largeActor(job, nodes[i%len(nodes)], i)
		return errors.Join(n.RegisterActor(ctx, a), n.ActorPlaced(ctx, at), n.ActorAlive(ctx, at, 1))
	})
	full := residentKiB(b)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	heap := m.HeapAlloc
	var took []float64
	for b.Loop() {
		if err := n.Close(); err != nil {
			b.Fatal(err)
		}
		closed(b, d)
		begun := time.Now()
		d = open(b, dir, Options{Log: quiet})
		n = lead(b, d)
		took = append(took, time.Since(begun).Seconds())
	}
	if a, k := len(n.ActorsOf(record.ActorFilter{})), len(n.ListNodes()); a != 10_000 || k != 2000 {
		b.Errorf("%d actors and %d nodes are there", a, k)
	}
	b.ReportMetric(float64(full)/1024, "MiB-resident")
	b.ReportMetric(float64(heap)/(1<<20), "MiB-heap")
	b.ReportMetric(median(took), "s/restart")
}

func largeNode(id ids.Node, i int) record.Node {
	return record.Node{
		ID: id, Name: fmt.Sprint("node-", i), Address: fmt.Sprintf("/run/eagleray/session-%d/daemon.sock", i), Hostname: fmt.Sprintf("host-%d.cluster.example", i),
		Number: uint32(i + 1), Links: []string{fmt.Sprintf("10.0.%d.%d:6379", i/250, i%250)}, Pid: i, StartedMs: 1,
		Resources: record.Resources{"CPU": 640_000, "GPU": 80_000, "memory": 1 << 50, "object_store_memory": 1 << 48},
		Labels:    map[string]string{"ray.io/accelerator-type": "H200", "zone": fmt.Sprint("zone-", i%3)},
	}
}

func largeActor(job ids.Job, node ids.Node, i int) (record.Actor, record.Instance) {
	id := ids.NewActor(job)
	spec := make([]byte, 1000)
	for j := range spec {
		spec[j] = byte(i * (j + 7) >> (j % 5))
	}
	a := record.Actor{
		ID: id, Job: job, Name: fmt.Sprint("actor-", i), Namespace: "bench", ClassName: "Trainer", Owner: ids.NewWorkerOn(1).Owner(), OwnerAddr: "/run/eagleray/session/w/0001.sock",
		Resources: record.Resources{"CPU": 10_000, "GPU": 10_000}, RunResources: record.Resources{"GPU": 10_000}, EnvKey: "env", MaxRestarts: 3, MaxConcurrency: 1,
		Spec: spec, Meta: spec[:200], CreatedMs: 1,
	}
	return a, record.Instance{Actor: id, Incarnation: record.FirstIncarnation, Node: node, Worker: ids.NewWorkerOn(uint32(i%2000 + 1)), Address: fmt.Sprintf("/run/eagleray/session/w/%d.sock", i), Pid: i}
}
