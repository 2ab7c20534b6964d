// Package inside joins package core, the Go API, and package core/worker, which runs functions and actors: a worker program has the same
// session as any other Go program, over the connection of its worker. The two packages cannot reach each other's unexported names, and
// what they share is no part of the API.
//
// Package core sets Open when it is initialised. There are no goroutines and no locks.
package inside

import (
	"context"

	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/gozygote"
	"github.com/eagleray/eagleray/core/internal/value"
)

// Session is what a worker needs of its session.
type Session interface {
	// Public is the *core.Session.
	Public() any
	// Works says with which scheduling strategy the calls of this worker run from now on: they may be in a placement group.
	Works(strategy string)
	// Encode packs a result. What v refers to must stay reachable until the result was sent.
	Encode(v any) (client.Value, error)
	// Reader reads a value that lies in the view, 0 for one that lies nowhere else. Call done when the value was read.
	Reader(view uint64) (r value.Reader, done func())
}

// Open makes the session of a worker that has joined.
var Open func(c *client.Client, start *gozygote.Start) Session

type callKey struct{}

// WithCall returns a context of the call with the token: what is submitted with it belongs to that call.
func WithCall(ctx context.Context, token uint64) context.Context {
	return context.WithValue(ctx, callKey{}, token)
}

// CallOf returns the token of the call to which a context belongs, 0 if it belongs to none.
func CallOf(ctx context.Context) uint64 {
	token, _ := ctx.Value(callKey{}).(uint64)
	return token
}
