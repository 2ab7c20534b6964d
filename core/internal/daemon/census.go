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
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Bounds of a census.
const (
	answerWait = 3 * time.Second // how long a process may take to answer
	censusRows = 200_000         // of all processes together
)

// census asks every process of the session what it holds, all at the same
// time, and joins what the node and the head know.
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
	if d.headIsSet() {
		d.headRows(out)
	}
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

// The states of actors as Ray calls them.
var actorStates = map[record.ActorState]string{
	record.ActorPending: "PENDING_CREATION", record.ActorAlive: "ALIVE", record.ActorRestarting: "RESTARTING", record.ActorDead: "DEAD",
}

func (d *Daemon) headRows(out *wire.Census) {
	out.Nodes = d.clusterInfo().Nodes
	for _, a := range d.head.ListActors(func(*record.Actor) bool { return true }) {
		r := wire.ActorRow{
			ActorID: a.ID[:], JobID: a.Job[:], ClassName: a.ClassName, Name: a.Name, Namespace: a.Namespace, State: actorStates[a.State], Pid: a.Pid,
			Detached: a.Detached, Restarts: a.NumRestarts, Resources: a.Resources, Reason: string(a.Cause.Reason), Message: a.Cause.Message,
			StartedMs: a.StartedMs, EndedMs: a.EndedMs,
		}
		if a.Node != (ids.Node{}) {
			r.NodeID, r.WorkerID = a.Node[:], a.Worker[:]
		}
		out.Actors = append(out.Actors, r)
	}
	for _, j := range d.head.Jobs() {
		d.markLeft(&j)
		out.Jobs = append(out.Jobs, wire.JobRow{
			JobID: j.ID[:], State: string(j.State), Entrypoint: j.Entrypoint, Namespace: j.Namespace, Message: j.Message, Pid: j.DriverPid,
			StartedMs: j.StartedMs, EndedMs: j.EndedMs,
		})
	}
}

// answerCensus serves a request, on a goroutine of its own.
func (d *Daemon) answerCensus(_ *client, m *wire.Message) {
	var q wire.CensusAsk
	if err := m.Decode(&q); err != nil {
		_ = m.Fail(err)
		return
	}
	if err := m.Reply(d.census(q)); err != nil {
		_ = m.Fail(err)
	}
}
