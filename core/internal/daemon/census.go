package daemon

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Bounds of a census.
const (
	answerWait = 3 * time.Second // how long a process may take to answer
	censusRows = 200_000         // of all processes together
)

// census asks every process of the session what it holds, all at the same
// time, and joins what the node knows.
func (d *Daemon) census(q wire.CensusAsk) *wire.Census {
	asked := d.censusClients()
	out := &wire.Census{NodeID: d.o.Node[:]}
	if q.Objects || q.Tasks {
		if len(asked) > 0 {
			q.Limit = max(1, min(q.Limit, censusRows/len(asked)))
		}
		patience := answerWait
		if q.TimeoutMs > 0 {
			patience = min(patience, time.Duration(q.TimeoutMs)*time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var all sync.WaitGroup
		found := make([]*wire.ProcessCensus, len(asked))
		silent := make([]string, len(asked))
		for i, c := range asked {
			all.Add(1)
			go func() {
				defer all.Done()
				found[i], silent[i] = partOf(ctx, c, &q, patience)
			}()
		}
		all.Wait()
		for i, c := range asked {
			if found[i] != nil {
				out.Processes = append(out.Processes, *found[i])
			} else if silent[i] != "" {
				out.Silent = append(out.Silent, wire.Silent{Pid: c.pid, Role: c.role, WorkerID: bytes.Clone(c.self[:]), Why: silent[i]})
			}
		}
	}
	d.locked(func() {
		d.placesOf(out)
		d.workerRows(out)
	})
	return out
}

// censusClients returns the processes that a census asks, in the order in which they came. Guests
// are asked by their own daemon.
func (d *Daemon) censusClients() []*client {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := make([]*client, 0, len(d.clients))
	for _, c := range d.clients {
		if c.role != wire.RoleCLI && c.role != wire.RoleGuest {
			asked = append(asked, c)
		}
	}
	slices.SortFunc(asked, func(a, b *client) int { return cmp.Compare(a.id, b.id) })
	return asked
}

// partOf asks one process for its part. why says why there is none; it is "" when the process has left meanwhile.
func partOf(ctx context.Context, c *client, q *wire.CensusAsk, patience time.Duration) (t *wire.ProcessCensus, why string) {
	if c.role != wire.RoleSuccessor && stopped(c.pid) {
		return nil, "it is stopped (SIGSTOP)"
	}
	t = new(wire.ProcessCensus)
	err := c.peer.Call(ctx, wire.TProcessCensus, q, t)
	switch {
	case err == nil:
		return t, ""
	case ctx.Err() != nil:
		return nil, fmt.Sprintf("it did not answer within %v", patience)
	case c.peer.Err() != nil:
		return nil, ""
	}
	return nil, err.Error()
}

// stopped reports whether a process is stopped, by a signal or a debugger.
func stopped(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The state follows the program's name, which is in parentheses and may hold some.
	state := b[bytes.LastIndexByte(b, ')')+1:]
	return bytes.HasPrefix(state, []byte(" T")) || bytes.HasPrefix(state, []byte(" t"))
}

// placesOf adds what the store knows of the objects that the processes have reported; mu held.
func (d *Daemon) placesOf(out *wire.Census) {
	st := d.objects.Stats()
	out.Store = wire.StoreSums{Capacity: st.Capacity, Used: st.Used, Objects: st.Objects, Pinned: st.Pinned, Peak: st.Peak, More: st.More}
	seen := map[ids.Object]bool{}
	for i := range out.Processes {
		for j := range out.Processes[i].Objects {
			id, err := ids.ParseObject(out.Processes[i].Objects[j].ObjectID)
			if err != nil || seen[id] {
				continue
			}
			if x, ok := d.objects.Find(id); ok {
				seen[id] = true
				out.Places = append(out.Places, wire.Place{ObjectID: bytes.Clone(id[:]), Where: x.Where, Size: x.Size, Pins: x.Pins})
			}
		}
	}
}

func (d *Daemon) workerRows(out *wire.Census) {
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
	out.Workers = append(out.Workers, d.ended...)
}

// headRows are those rows of a census that the head knows.
type headRows struct {
	nodes  []wire.NodeInfo
	actors []wire.ActorRow
	jobs   []wire.JobRow
}

// askHead asks the head for its rows.
func (d *Daemon) askHead(ctx context.Context) (rows headRows, err error) {
	if err := d.awaitHead(ctx); err != nil {
		return rows, err
	}
	info, err1 := d.clusterInfo(ctx)
	actors, err2 := inquiry.Actors(ctx, d.head)
	jobs, err3 := inquiry.Jobs(ctx, d.head, d.markLeft)
	return headRows{info.Nodes, actors, jobs}, cmp.Or(err1, err2, err3)
}

// answerCensus serves a request, on a goroutine of its own. The head is asked while the processes are.
// Without its answer there is no census, since an empty list of actors would be taken for the truth.
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
	var of headRows
	asked := make(chan error, 1)
	go func() {
		var err error
		of, err = d.askHead(ctx)
		asked <- err
	}()
	out := d.census(q)
	if err := <-asked; err != nil {
		_ = m.Fail(inquiry.Unanswered("list actors, jobs and nodes", patience, err))
		return
	}
	out.Nodes, out.Actors, out.Jobs = of.nodes, of.actors, of.jobs
	if err := m.Reply(out); err != nil {
		_ = m.Fail(err)
	}
}
