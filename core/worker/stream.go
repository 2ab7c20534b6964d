package worker

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// errStopped ends a stream whose items nobody takes any more.
var errStopped = errors.New("the stream was closed")

// none is the own result of a stream.
var none = client.Value{Fmt: client.FmtNone}

// producer sends the items of one stream.
type producer struct {
	s   *server
	ctx context.Context
	it  *client.Item
	n   int
	err error // why it ends early
}

// stream runs a stream and sends its items. Each is sent before the function goes on.
func (s *server) stream(ctx context.Context, it *client.Item, c *callable, in []reflect.Value) result {
	if it.Returns%2 == 0 || it.Returns != -1 {
		return s.failed(it, refused{fmt.Errorf("%s is a stream of a Go function: call it with num_returns=\"streaming\", and let each item be one object", c)})
	}
	p := &producer{s: s, ctx: ctx, it: it}
	err := p.run(c, in)
	switch {
	case err == nil, errors.Is(err, errStopped):
		return result{values: []client.Value{none}}
	}
	r := s.outcome(ctx, it, err)
	if r.exit || r.flags&wire.ReplyCancelled != 0 {
		return r
	}
	r.values, r.flags = append(r.values, none), r.flags|wire.ReplyLastItem
	return r
}

// run calls the function and goes through what it returns.
func (p *producer) run(c *callable, in []reflect.Value) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = recovered(x)
		}
	}()
	seq, err := c.call(in)
	if err != nil {
		return err
	}
	if seq.IsNil() {
		return nil
	}
	yield := reflect.MakeFunc(c.stream.yield, func(args []reflect.Value) []reflect.Value {
		if p.err == nil && c.stream.fails && !args[1].IsNil() {
			p.err = args[1].Interface().(error)
		}
		if p.err == nil {
			p.err = p.send(args[0].Interface())
		}
		return []reflect.Value{reflect.ValueOf(p.err == nil)}
	})
	seq.Call([]reflect.Value{yield})
	return p.err
}

// send sends an item, and waits until the next one may come.
func (p *producer) send(v any) error {
	x, err := p.s.in.Encode(v)
	if err != nil {
		return fmt.Errorf("item %d of %s cannot be sent: %w", p.n, p.it.Tmpl.Name, err)
	}
	state, err := p.s.c.FeedItem(p.it.Token, &x, 0)
	p.n++
	if err == nil && state == client.FeedFull {
		state, err = p.s.c.FeedRoom(p.it.Token, -1)
	}
	switch {
	case err != nil:
		return err
	case state == client.FeedClosed:
		return errStopped
	case state == client.FeedCancelled:
		if p.ctx.Err() == nil {
			p.s.cancel(p.it.TaskID)
		}
		return context.Canceled
	}
	return nil
}
