package record

import "context"

// Request names one request of a sender that may send it again, because the answer to it was lost. The state applies
// the change of a request once: a repetition gets the answer that the first one got. When the answer is no longer
// known, the error is ErrMayHaveBeenApplied.
type Request struct {
	Client [16]byte // the sender, by a random name
	Number uint64   // grows with each request of the sender

	// Answered says that the sender has the answers to all its requests with lower numbers, or wants them no more. The
	// state forgets these answers. 0 says nothing.
	Answered uint64
}

// requestKey is the key of a Request in a context.
type requestKey struct{}

// With returns a context for a change that has the request's name. The context is for one change only: a second one
// would be taken for a repetition of the first.
func (r Request) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestIn returns the request that a change belongs to, and whether it has a name.
func RequestIn(ctx context.Context) (Request, bool) {
	r, ok := ctx.Value(requestKey{}).(Request)
	return r, ok
}
