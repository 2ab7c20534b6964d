package headlink

import (
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Resolve asks for an address of an incarnation after the given one. The head waits, for at most the patience while
// the actor is unknown. Done is called when the head has answered, or when the client is closed.
func (c *Client) Resolve(id ids.Actor, after uint64, patience time.Duration, done func(record.Resolution, error)) (cancel func() bool) {
	return c.wait(linkmsg.OpResolve, &linkmsg.Resolve{ID: id, After: after, PatienceMs: patience.Milliseconds()}, done)
}

// Ended asks what became of the actor when the incarnation has ended, as Resolve does.
func (c *Client) Ended(id ids.Actor, incarnation uint64, done func(record.Resolution, error)) (cancel func() bool) {
	return c.wait(linkmsg.OpEnded, &linkmsg.Resolve{ID: id, After: incarnation}, done)
}

func (c *Client) wait(op linkmsg.Op, q *linkmsg.Resolve, done func(record.Resolution, error)) (cancel func() bool) {
	a := c.ask(op, false, q, func(b msgpack.RawMessage, err error) {
		var r record.Resolution
		if err == nil {
			err = linkmsg.Decode("the head's answer about an actor", b, wire.MaxControl, &r)
		}
		done(r, err)
	})
	return func() bool {
		dropped, _ := c.drop(a, nil)
		return dropped
	}
}
