package census

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// question is one kind of question to one node.
type question struct {
	node uint32
	what wire.Type
}

// elsewhere asks the other living nodes for their census.
func (c *Census) elsewhere(ctx context.Context, nodes []wire.NodeInfo, q *wire.CensusAsk, patience time.Duration) ([]wire.NodeCensus, []wire.SilentNode) {
	others := c.others(nodes)
	ask := linkmsg.CensusAsk{
		Limit: q.Limit, Rows: maxRows / (len(others) + 1), Objects: q.Objects, Tasks: q.Tasks,
		TimeoutMs: max(patience.Milliseconds()*8/10, 1), // a process that is silent is the node's to name
	}
	body, err := linkmsg.Encode("the question for a census", &ask)
	return collect(ctx, c, others, patience, linkmsg.TCensus, body, err, func(n *wire.NodeCensus, id []byte) { n.NodeID = id })
}

// uses asks the other living nodes what is in use there.
func (c *Census) uses(ctx context.Context, nodes []wire.NodeInfo) ([]wire.NodeUse, []wire.SilentNode) {
	return collect(ctx, c, c.others(nodes), useWait, linkmsg.TUse, linkmsg.Nothing, nil, func(n *wire.NodeUse, id []byte) { n.NodeID = id })
}

// others returns the living nodes without this one.
func (c *Census) others(nodes []wire.NodeInfo) (found []wire.NodeInfo) {
	if c.o.Network == nil {
		return nil
	}
	for _, n := range nodes {
		if n.Alive && n.Number != 0 && !bytes.Equal(n.NodeID, c.o.Self[:]) {
			found = append(found, n)
		}
	}
	return found
}

// collect asks all nodes the same at the same time. Named tells an answer whose it is.
func collect[T any](ctx context.Context, c *Census, nodes []wire.NodeInfo, patience time.Duration, what wire.Type, body msgpack.RawMessage, err error, named func(*T, []byte)) (parts []T, silent []wire.SilentNode) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found := make([]T, len(nodes))
	why := make([]error, len(nodes))
	var all sync.WaitGroup
	for i := range nodes {
		all.Add(1)
		go func() {
			defer all.Done()
			if why[i] = err; err != nil {
				return
			}
			var b []byte
			if b, why[i] = c.ask(ctx, question{nodes[i].Number, what}, body, patience); why[i] == nil {
				why[i] = linkmsg.DecodePart(b, &found[i])
			}
		}()
	}
	all.Wait()
	for i := range nodes {
		if why[i] != nil {
			silent = append(silent, wire.SilentNode{NodeID: nodes[i].NodeID, Why: why[i].Error()})
			continue
		}
		named(&found[i], nodes[i].NodeID)
		parts = append(parts, found[i])
	}
	return parts, silent
}

// ask asks another node. The error says why there is no answer.
func (c *Census) ask(ctx context.Context, q question, body msgpack.RawMessage, patience time.Duration) ([]byte, error) {
	if since, is := c.isSilent(q); is {
		return nil, fmt.Errorf("it has not answered for %v", time.Since(since).Round(100*time.Millisecond))
	}
	peer, err := c.o.Network.Control(q.node)
	if err != nil {
		return nil, fmt.Errorf("it cannot be reached: %w", err)
	}
	type answer struct {
		m   *wire.Message
		err error
	}
	ch := make(chan answer, 1)
	began := time.Now()
	var late wait // both the answer and the end of the patience may come first
	peer.Go(q.what, body, func(m *wire.Message, err error) {
		ch <- answer{m, err}
		c.answered(q, &late)
	})
	select {
	case a := <-ch:
		if a.err != nil {
			return nil, a.err
		}
		return a.m.Body, nil
	case <-ctx.Done():
		if waited := time.Since(began); waited < patience/2 { // the caller has left early, which says nothing of the node
			return nil, fmt.Errorf("it did not answer within %v, and the one that asked waits no longer", waited.Round(time.Millisecond))
		}
		c.unanswered(q, &late, began)
		return nil, fmt.Errorf("it did not answer within %v", patience)
	}
}

// wait is one question that may be answered late. The lock of Census guards it.
type wait struct{ answered, late bool }

// isSilent reports whether a node has let the same question wait for too long, and since when.
func (c *Census) isSilent(q question) (since time.Time, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, is = c.silent[q]
	return since, is
}

// unanswered notes that nobody waits for an answer any more that has not come.
func (c *Census) unanswered(q question, w *wait, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, is := c.silent[q]; !is && !w.answered {
		w.late, c.silent[q] = true, began
	}
}

// answered notes an answer, or that the connection has ended.
func (c *Census) answered(q question, w *wait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.answered = true; w.late {
		delete(c.silent, q)
	}
}
