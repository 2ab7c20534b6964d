package census

import (
	"context"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxServed is how many censuses are taken at a time for other nodes.
const maxServed = 16

// Handle serves a message of another node. It returns false if the message is not about what this node does.
func (c *Census) Handle(from uint32, m *wire.Message) bool {
	var err error
	switch m.Type {
	case linkmsg.TCensus:
		err = c.serve(m)
	case linkmsg.TUse:
		var b msgpack.RawMessage
		if b, err = encode(c.o.Node.Use(), nil); err == nil {
			err = m.Reply(b)
		}
	default:
		return false
	}
	if err != nil {
		c.o.Refused(fault.New(fault.CodeOf(err), "question of node %d: %v", from, err))
		_ = m.Fail(err)
	}
	return true
}

// serve takes a census of this node for another one, on a goroutine of its own.
func (c *Census) serve(m *wire.Message) error {
	var q linkmsg.CensusAsk
	if err := linkmsg.Decode(m.Type.String(), m.Body, linkmsg.MaxQuestion, &q); err != nil {
		return err
	}
	if c.served.Add(1) > maxServed {
		c.served.Add(-1)
		return fault.New(fault.BadRequest, "it is asked by too many at the same time: %d censuses are under way", maxServed)
	}
	go func() {
		defer c.served.Add(-1)
		patience := processWait
		if q.TimeoutMs > 0 {
			patience = min(patience, time.Duration(q.TimeoutMs)*time.Millisecond)
		}
		b, err := c.part(c.o.Context, &q, patience)
		if err != nil {
			_ = m.Fail(err)
			return
		}
		_ = m.Reply(b)
	}()
	return nil
}

// part returns the census of this node as another one gets it.
func (c *Census) part(ctx context.Context, q *linkmsg.CensusAsk, patience time.Duration) (msgpack.RawMessage, error) {
	out := c.here(ctx, &wire.CensusAsk{Limit: q.Limit, Objects: q.Objects, Tasks: q.Tasks}, min(max(q.Rows, 1), maxRows), patience)
	return encode(out, func() bool { return halve(out) })
}

// encode returns an answer to another node. Shorten makes an answer shorter that is too long, and returns false when
// it cannot.
func encode(v any, shorten func() bool) (msgpack.RawMessage, error) {
	for {
		b, fits, err := linkmsg.EncodePart(v, linkmsg.MaxPart)
		if fits || err != nil {
			return b, err
		}
		if shorten == nil || !shorten() {
			return nil, fault.New(fault.BadRequest, "its answer has more than the %d bytes that one node may send another", linkmsg.MaxPart)
		}
	}
}

// halve leaves out the second half of each list of a census. It returns false if there is nothing to leave out. What the
// processes count is still true.
func halve(out *wire.NodeCensus) (shorter bool) {
	for i := range out.Processes {
		p := &out.Processes[i]
		shorter = cut(&p.Objects) || shorter
		shorter = cut(&p.Tasks) || shorter
		shorter = cut(&p.Ended) || shorter
		shorter = cut(&p.Ran) || shorter
		shorter = cut(&p.ByMaker) || shorter
	}
	left := make(map[string]bool)
	for i := range out.Processes {
		for j := range out.Processes[i].Objects {
			left[string(out.Processes[i].Objects[j].ObjectID)] = true
		}
	}
	out.Places = slices.DeleteFunc(out.Places, func(p wire.Place) bool { return !left[string(p.ObjectID)] })
	shorter = cut(&out.RuntimeEnvs) || shorter
	return cut(&out.Workers) || shorter
}

func cut[T any](list *[]T) bool {
	n := len(*list)
	*list = (*list)[:n/2]
	return n > 0
}
