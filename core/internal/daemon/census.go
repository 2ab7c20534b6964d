package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/census"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// answerCensus serves TCensus, on a goroutine of its own.
func (d *Daemon) answerCensus(_ *client, m *wire.Message) {
	var q wire.CensusAsk
	if err := m.Decode(&q); err != nil {
		_ = m.Fail(err)
		return
	}
	patience := inquiry.Patience
	if q.TimeoutMs > 0 {
		patience = min(patience, time.Duration(q.TimeoutMs)*time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	err := d.awaitHead(ctx)
	var out *wire.Census
	if err == nil {
		out, err = d.census.Take(ctx, d.head, &q)
	}
	if err == nil {
		err = m.Reply(out)
	}
	if err != nil {
		_ = m.Fail(inquiry.Unanswered("list actors, jobs and nodes", patience, err))
	}
}

// answerClusterInfo serves TClusterInfo.
func (d *Daemon) answerClusterInfo(ctx context.Context, _ *client, m *wire.Message) (any, error) {
	var q wire.ClusterAsk
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	d.awaitMemory(nil)
	info, err := d.census.Info(ctx, d.head, &q)
	info.Totals = d.totals()
	return info, err
}

// Use implements metrics.Node.
func (d *Daemon) Use() wire.NodeUse { return counted{d}.Use() }

// Here implements metrics.Node.
func (d *Daemon) Here(ctx context.Context, q *wire.CensusAsk, patience time.Duration) *wire.NodeCensus {
	return d.census.Here(ctx, q, patience)
}

// takeMetrics serves TMetrics. A report may be read when its process has left already.
func (d *Daemon) takeMetrics(c *client, m *wire.Message) error {
	err := d.o.Metrics.Serve(uint64(c.id), hex.EncodeToString(c.self[:]), m)
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.gone {
		d.o.Metrics.Gone(uint64(c.id))
	}
	return err
}

// headState serves THeadState.
func (d *Daemon) headState(_ *client, m *wire.Message) error {
	var s wire.HeadState
	if d.o.HeadAway != nil {
		s.Away = d.o.HeadAway()
	}
	if d.o.Heads != nil {
		s.Heads = d.o.Heads()
	}
	return m.Reply(s)
}

// counted is this node as a census sees it.
type counted struct{ d *Daemon }

// Asked implements census.Node. Guests are asked by their own daemon.
func (n counted) Asked() (asked []census.Process) {
	d := n.d
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*client
	for _, c := range d.clients {
		if c.role != wire.RoleCLI && c.role != wire.RoleGuest {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *client) int { return cmp.Compare(a.id, b.id) })
	for _, c := range list {
		asked = append(asked, census.Process{Pid: c.pid, Role: c.role, Self: c.self, Peer: c.peer})
	}
	return asked
}

// AddRows implements census.Node.
func (n counted) AddRows(out *wire.NodeCensus) {
	d := n.d
	d.mu.Lock()
	defer d.mu.Unlock()
	out.Store = d.storeSums()
	seen := map[ids.Object]bool{}
	for i := range out.Processes {
		for j := range out.Processes[i].Objects {
			id, err := ids.ParseObject(out.Processes[i].Objects[j].ObjectID)
			if err != nil || seen[id] {
				continue
			}
			if x, ok := d.objects.Find(id); ok {
				out.Places = append(out.Places, wire.Place{ObjectID: id.Raw(), Where: x.Where, Size: x.Size, Pins: x.Pins})
			} else if ok = d.pulls.Knows(id); ok {
				out.Places = append(out.Places, wire.Place{ObjectID: id.Raw(), Where: wire.Elsewhere})
			}
			seen[id] = true
		}
	}
	for _, w := range d.workers {
		out.Workers = append(out.Workers, w.row())
	}
	for _, c := range d.clients {
		if c.role == wire.RoleDriver || c.role == wire.RoleService {
			r := wire.WorkerRow{WorkerID: bytes.Clone(c.self[:]), Role: c.role, Pid: c.pid, Alive: true}
			if c.job != nil {
				r.JobID = bytes.Clone(c.job.ID[:])
			}
			out.Workers = append(out.Workers, r)
		}
	}
	out.Workers, out.RuntimeEnvs = append(out.Workers, d.ended...), d.table.RuntimeEnvs()
}

// storeSums returns the totals of the store; mu held.
func (d *Daemon) storeSums() wire.StoreSums {
	st := d.objects.Stats()
	return wire.StoreSums{Capacity: st.Capacity, Used: st.Used, Objects: st.Objects, Pinned: st.Pinned, Peak: st.Peak, More: st.More}
}

// CorrectJob implements census.Node.
func (n counted) CorrectJob(j *record.Job) { n.d.markLeft(j) }

// storeMemory is the resource that stands for the arena. Nobody reserves it: what of it is free is what objects have left.
const storeMemory = "object_store_memory"

// Use implements census.Node.
func (n counted) Use() wire.NodeUse {
	d := n.d
	d.mu.Lock()
	defer d.mu.Unlock()
	totals, free := d.m.Totals(), d.m.Free()
	for name, n := range free {
		free[name] = max(n, 0)
	}
	if n := totals[storeMemory]; n > 0 {
		free[storeMemory] = max(n-resource.FromInt(int64(d.objects.UsedBytes())), 0)
	}
	use := wire.NodeUse{
		NodeID: d.o.Node[:], Resources: totals.Wire(), Available: free.Wire(), Workers: len(d.workers), Actors: len(d.actors),
		Pending: d.m.Pending(), GPUUses: d.gpus.Uses(), Store: d.storeSums(),
	}
	for _, x := range d.m.Demands() {
		use.Demands = append(use.Demands, wire.Demand{Name: x.Name, Resources: x.Need.Wire(), Count: x.N})
	}
	for _, j := range d.jobs {
		if !j.ended && !j.left && !j.visits {
			use.Jobs++
		}
	}
	return use
}
