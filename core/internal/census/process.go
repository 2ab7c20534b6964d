package census

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Here returns what this node alone knows: its processes may take so long to answer.
func (c *Census) Here(ctx context.Context, q *wire.CensusAsk, patience time.Duration) *wire.NodeCensus {
	return c.here(ctx, q, maxRows, patience)
}

// here returns the census of this node, which has about so many rows. Its processes are all asked at the same time.
func (c *Census) here(ctx context.Context, q *wire.CensusAsk, rows int, patience time.Duration) *wire.NodeCensus {
	out := &wire.NodeCensus{NodeID: c.o.Self[:]}
	if q.Objects || q.Tasks {
		c.askProcesses(ctx, out, *q, rows, patience)
	}
	c.o.Node.AddRows(out)
	return out
}

func (c *Census) askProcesses(ctx context.Context, out *wire.NodeCensus, q wire.CensusAsk, rows int, patience time.Duration) {
	asked := c.o.Node.Asked()
	if len(asked) > 0 {
		q.Limit = max(1, min(q.Limit, rows/len(asked)))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all sync.WaitGroup
	found := make([]*wire.ProcessCensus, len(asked))
	silent := make([]string, len(asked))
	for i := range asked {
		all.Add(1)
		go func() {
			defer all.Done()
			found[i], silent[i] = partOf(ctx, &asked[i], &q, patience)
		}()
	}
	all.Wait()
	for i := range asked {
		if p := &asked[i]; found[i] != nil {
			out.Processes = append(out.Processes, *found[i])
		} else if silent[i] != "" {
			out.Silent = append(out.Silent, wire.Silent{Pid: p.Pid, Role: p.Role, WorkerID: bytes.Clone(p.Self[:]), Why: silent[i]})
		}
	}
}

// partOf asks one process for its part. why says why there is none; it is "" when the process has left meanwhile.
func partOf(ctx context.Context, p *Process, q *wire.CensusAsk, patience time.Duration) (t *wire.ProcessCensus, why string) {
	if p.Role != wire.RoleSuccessor && stopped(p.Pid) {
		return nil, "it is stopped (SIGSTOP)"
	}
	t = new(wire.ProcessCensus)
	err := p.Peer.Call(ctx, wire.TProcessCensus, q, t)
	switch {
	case err == nil:
		return t, ""
	case ctx.Err() != nil:
		return nil, fmt.Sprintf("it did not answer within %v", patience)
	case p.Peer.Err() != nil:
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
