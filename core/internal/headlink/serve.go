package headlink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Bounds of what one node may have under way at the head. A node has at most some ten thousand processes, and each asks
// for one thing at a time, except for the addresses of actors.
const (
	maxAsks     = 1 << 20
	maxPatience = time.Minute // for an unknown actor
)

// ask serves a request. Those that wait for an actor need no goroutine, and the others have one each.
func (c *session) ask(m *wire.Message) error {
	var q linkmsg.Ask
	if err := linkmsg.Decode("a request", m.Body, wire.MaxControl, &q); err != nil {
		return err
	}
	switch q.Op {
	case linkmsg.OpResolve, linkmsg.OpEnded:
		c.await(m, &q)
		return nil
	case linkmsg.OpAwaitGroup:
		c.awaitGroup(m, &q)
		return nil
	}
	ctx, cancel := context.WithCancel(c.ctx)
	err := c.note(q.N, cancel, func() {
		defer cancel()
		v, err := c.serve(ctx, &q)
		c.finished(q.N)
		c.answer(m, v, whatIsKnown(&q, err))
	})
	if err != nil {
		cancel()
		c.answer(m, nil, err)
	}
	return nil
}

// note remembers how a request is ended, and starts the goroutine that serves it, if it needs one.
func (c *session) note(n uint64, stop, serve func()) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	switch {
	case c.s.closed || c.asks == nil:
		return record.ErrClosed
	case c.asks[n] != nil:
		return fault.New(fault.BadRequest, "request %d is being served already", n)
	case len(c.asks) >= maxAsks:
		return fault.New(fault.HeadUnavailable, "more than %d requests of node %d wait for the head", maxAsks, c.number)
	}
	c.asks[n] = stop
	if serve != nil {
		c.s.ends.Go(serve) // under the lock, so that Close waits for it
	}
	return nil
}

// finished forgets a request. It returns how it is ended, nil when that is known no more.
func (c *session) finished(n uint64) (stop func()) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	stop = c.asks[n]
	delete(c.asks, n)
	return stop
}

// drop ends a request whose answer nobody waits for any more.
func (c *session) drop(m *wire.Message) error {
	var n linkmsg.Number
	if err := linkmsg.Decode("the number of a request", m.Body, linkmsg.MaxHello, &n); err != nil {
		return err
	}
	if stop := c.finished(n.N); stop != nil {
		stop()
	}
	return nil
}

// answer sends an answer. A head that is ending gives none: it closes the connection, and the next one is asked again.
func (c *session) answer(m *wire.Message, v any, err error) {
	if errors.Is(err, record.ErrClosed) {
		m.Peer().Close()
		return
	}
	a := linkmsg.Answer{Body: linkmsg.Nothing}
	if err == nil && v != nil {
		a.Body, err = linkmsg.Encode("the head's answer", v)
	}
	a.Err = linkmsg.FromError(err)
	b, err := linkmsg.Encode("the head's answer", &a)
	if err != nil {
		_ = m.Fail(err)
		return
	}
	_ = m.Reply(b)
}

// await serves a request that is answered when something has become of an actor.
func (c *session) await(m *wire.Message, q *linkmsg.Ask) {
	var r linkmsg.Resolve
	if err := linkmsg.Decode("a question for an actor", q.Body, linkmsg.MaxHello, &r); err != nil {
		c.answer(m, nil, err)
		return
	}
	done := func(found record.Resolution, err error) {
		c.finished(q.N)
		c.answer(m, &found, err)
	}
	c.awaitAnswer(m, q, func() func() bool {
		if q.Op == linkmsg.OpEnded {
			return c.s.head.Ended(r.ID, r.After, done)
		}
		patience := min(max(0, time.Duration(r.PatienceMs)*time.Millisecond), maxPatience)
		return c.s.head.Resolve(r.ID, r.After, patience, done)
	})
}

// awaitAnswer begins a request that is answered when something has happened. Begin returns how it is ended.
func (c *session) awaitAnswer(m *wire.Message, q *linkmsg.Ask, begin func() (cancel func() bool)) {
	begun := make(chan func() bool, 1) // the answer may come before it is known how the question is ended
	if err := c.note(q.N, func() {
		go func() { (<-begun)() }()
	}, nil); err != nil {
		c.answer(m, nil, err)
		return
	}
	begun <- begin()
}

// serve carries out a request.
func (c *session) serve(ctx context.Context, q *linkmsg.Ask) (any, error) {
	h := c.s.head
	switch q.Op {
	case linkmsg.OpActor:
		return serveAs(q, func(r *linkmsg.ActorRef) (any, error) { return pointer(h.Actor(ctx, r.ID)) })
	case linkmsg.OpActors:
		return serveAs(q, func(f *record.ActorFilter) (any, error) {
			list, err := h.ActorsOf(ctx, *f)
			return &linkmsg.Actors{List: list}, err
		})
	case linkmsg.OpNamed:
		return serveAs(q, func(k *linkmsg.Key) (any, error) { return pointer(h.GetNamed(ctx, k.Namespace, k.Key)) })
	case linkmsg.OpNames:
		return serveAs(q, func(n *linkmsg.Names) (any, error) { return c.names(ctx, n) })
	case linkmsg.OpNodes:
		list, err := h.Nodes(ctx)
		return &linkmsg.Nodes{List: c.s.mark(list)}, err
	case linkmsg.OpJobs:
		list, err := h.Jobs(ctx)
		return &linkmsg.Jobs{List: list}, err
	case linkmsg.OpValue:
		return serveAs(q, func(k *linkmsg.Key) (any, error) {
			v, found, err := h.GetKV(ctx, k.Namespace, k.Key)
			return &linkmsg.Value{Value: v, Found: found}, err
		})
	case linkmsg.OpKeys:
		return serveAs(q, func(k *linkmsg.Key) (any, error) {
			list, err := h.KVKeys(ctx, k.Namespace, k.Key)
			return &linkmsg.Keys{List: list}, err
		})
	case linkmsg.OpClass:
		return serveAs(q, func(at *linkmsg.ClassAt) (any, error) {
			data, size, found, err := h.Code(ctx, at.Object, at.Offset)
			return &linkmsg.ClassPart{Data: data, Size: size, Found: found}, err
		})
	case linkmsg.OpSizes:
		return h.Sizes(ctx)
	}
	if v, ours, err := c.serveKeys(ctx, q); ours {
		return v, err
	}
	if v, ours, err := c.serveGroups(ctx, q); ours {
		return v, err
	}
	return c.change(ctx, q)
}

// change carries out a request that changes something.
func (c *session) change(ctx context.Context, q *linkmsg.Ask) (any, error) {
	h := c.s.head
	switch q.Op {
	case linkmsg.OpCreate:
		return serveAs(q, func(a *record.Actor) (any, error) { return nil, c.create(ctx, a, q.Again) })
	case linkmsg.OpKill:
		return serveAs(q, func(k *linkmsg.Kill) (any, error) { return nil, h.KillActor(c.named(ctx, q), k.ID, k.NoRestart) })
	case linkmsg.OpRegister:
		return serveAs(q, func(n *record.Node) (any, error) { return nil, c.register(ctx, n) })
	case linkmsg.OpDrain:
		return serveAs(q, func(d *linkmsg.Drain) (any, error) { return c.s.drain(ctx, d) })
	case linkmsg.OpStartJob:
		return serveAs(q, func(j *record.Job) (any, error) {
			if j.Driver == (ids.Owner{}) {
				return nil, fault.New(fault.BadRequest, "a job without a driver cannot be started from another process: its number could not be found again")
			}
			id, err := h.StartJob(ctx, *j)
			return &linkmsg.JobRef{ID: id}, err
		})
	case linkmsg.OpPutValue:
		return serveAs(q, func(v *linkmsg.Value) (any, error) {
			added, err := h.PutKV(c.named(ctx, q), v.Namespace, v.Key, v.Value, v.Overwrite)
			if added {
				return &linkmsg.Count{N: 1}, err
			}
			return &linkmsg.Count{}, err
		})
	case linkmsg.OpDelValues:
		return serveAs(q, func(k *linkmsg.Key) (any, error) {
			n, err := h.DelKV(c.named(ctx, q), k.Namespace, k.Key, k.Prefix)
			return &linkmsg.Count{N: uint64(n)}, err
		})
	case linkmsg.OpPutClass:
		return serveAs(q, func(p *linkmsg.ClassPart) (any, error) {
			have, err := h.PutCode(ctx, p.Node, p.Actor, p.Object, p.Size, p.Offset, p.Data)
			return &linkmsg.Count{N: have}, err
		})
	}
	return nil, fault.New(fault.BadRequest, "the head does not know the request %q", q.Op)
}

// serveAs reads the body of a request and carries the request out.
func serveAs[T any](q *linkmsg.Ask, serve func(*T) (any, error)) (any, error) {
	body := new(T)
	if err := linkmsg.Decode(fmt.Sprintf("a request %q", q.Op), q.Body, wire.MaxControl, body); err != nil {
		return nil, err
	}
	return serve(body)
}

// pointer returns what is encoded as a record.
func pointer[T any](v T, err error) (any, error) { return &v, err }

// named gives the change of a request its name, so that it is made once.
func (c *session) named(ctx context.Context, q *linkmsg.Ask) context.Context {
	if q.Again && planted.Strikes(planted.DoubleApply) {
		return ctx
	}
	return record.Request{Client: c.client, Number: q.N, Answered: min(q.Below, q.N)}.With(ctx)
}

// whatIsKnown returns the error of a request with what is known of the change. When a request comes again, an error that does not come from the state says nothing of
// what became of it before: another head may have made the change.
func whatIsKnown(q *linkmsg.Ask, err error) error {
	var unkept *record.BlobNotKeptError
	lacks := errors.As(err, &unkept)
	switch {
	case err == nil, errors.Is(err, record.ErrMayHaveBeenApplied):
		return err
	case lacks && !q.Again:
		return fmt.Errorf("%w. Nothing was changed", err)
	case !q.Again || !slices.Contains(madeOnce, q.Op), !lacks && slices.Contains(refusals, fault.CodeOf(err)):
		return err
	}
	return fmt.Errorf("%w: %w", record.ErrMayHaveBeenApplied, err)
}

// Of whatIsKnown: the changes that are not made a second time when they are asked for again, and the codes of what the state refuses.
var (
	madeOnce = []linkmsg.Op{linkmsg.OpCreate, linkmsg.OpKill, linkmsg.OpPutValue, linkmsg.OpDelValues, linkmsg.OpKeyWrite, linkmsg.OpKeyGrant}
	refusals = []fault.Code{fault.BadRequest, fault.NotFound, fault.AlreadyExists, fault.ActorDied, fault.StoreFull}
)

// create registers an actor. When the request was sent before and the actor is there, the request was carried out. That is looked at first: what the actor needs on the
// disks may not be writable any more.
func (c *session) create(ctx context.Context, a *record.Actor, again bool) error {
	if a.AsCluster {
		a.Exclusive = c.s.exclusive()
	}
	if again {
		if made, err := c.made(ctx, a); made || err != nil {
			return err
		}
	}
	err := c.s.head.CreateActor(ctx, *a)
	if again && errors.Is(err, record.ErrExists) {
		if made, unknown := c.made(ctx, a); made && unknown == nil {
			return nil
		}
	}
	return err
}

// made reports whether an actor is registered with its owner and its job. It needs none of the actor's large values.
func (c *session) made(ctx context.Context, a *record.Actor) (bool, error) {
	list, err := c.s.head.ActorsOf(ctx, record.ActorFilter{Owner: a.Owner, Job: a.Job})
	return slices.ContainsFunc(list, func(b record.Actor) bool { return b.ID == a.ID && b.Owner == a.Owner && b.Job == a.Job }), err
}

// register adds the node, or renews its record. A node registers itself: with its own name, with the number of its certificate, and with addresses on the network.
func (c *session) register(ctx context.Context, n *record.Node) error {
	switch {
	case n.ID != c.id:
		return fault.New(fault.BadRequest, "node %d has introduced itself as %s, and registers as %s", c.number, c.id, n.ID)
	case n.Number != c.number:
		return fault.New(fault.BadRequest, "the connection is that of node %d, and it registers as node %d", c.number, n.Number)
	case len(n.Links) > linkmsg.MaxAddresses:
		return fault.New(fault.BadRequest, "node %d registers with %d addresses, must be at most %d", c.number, len(n.Links), linkmsg.MaxAddresses)
	}
	for _, a := range n.Links {
		if err := linkmsg.CheckAddress(a); err != nil {
			return fault.New(fault.BadRequest, "node %d registers with an address that no other node can dial: %v", c.number, err)
		}
	}
	all, err := c.s.head.Nodes(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if err := oneName(&all[i], c.number, c.id); err != nil {
			return err
		}
	}
	return c.s.head.RegisterNode(ctx, *n)
}

// oneName returns an error if a node has the name or the number of another one that is registered. Neither is given twice.
func oneName(known *record.Node, number uint32, id ids.Node) error {
	if known.Number != 0 && (known.Number == number) != (known.ID == id) {
		return fault.New(fault.BadRequest, "node %d calls itself %s, and the cluster knows %s as node %d", number, id, known.ID, known.Number)
	}
	return nil
}

func (c *session) names(ctx context.Context, n *linkmsg.Names) (any, error) {
	found, err := c.s.head.ListNamed(ctx, n.Namespace, n.All)
	var r linkmsg.NameList
	for _, x := range found {
		r.List = append(r.List, linkmsg.Name{Namespace: x.Namespace, Name: x.Name, ID: x.Actor})
	}
	return &r, err
}
