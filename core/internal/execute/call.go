package execute

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/trace"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Token returns the number by which the program names the call.
func (k *Call) Token() uint64 { return k.token }

// Misses returns how often the call was deferred because an argument was lost.
func (k *Call) Misses() int { return k.misses }

// Cancelled reports whether the call's cancellation was asked for.
func (k *Call) Cancelled() bool { return k.cancel }

// Leased reports whether the call is a task of a process that leases this worker.
// Such a caller takes a task back; an actor's caller does not.
func (k *Call) Leased() bool { return k.Caller.leased }

// Unread reports whether the caller has left, so that nobody reads the answer.
func (k *Call) Unread() bool { return k.Caller.pipe.Closed() }

// Hold keeps an object that was pinned for the call's arguments. When the call
// ends, or its caller leaves, Effects.Unpin gets it.
func (k *Call) Hold(o *refs.Object) { k.held = append(k.held, o) }

// Held returns what the call keeps for its arguments.
func (k *Call) Held() []*refs.Object { return k.held }

// Stopped returns a channel that is closed when the call is cancelled from now
// on. It is closed already for a cancelled task, whose answer nobody wants.
func (k *Call) Stopped() <-chan struct{} {
	if k.stop == nil {
		k.stop = make(chan struct{})
		if k.cancel && k.Tmpl.Kind == frame.KindTask {
			close(k.stop)
		}
	}
	return k.stop
}

// Place returns which return of the call the i-th result of its answer is. The
// result is not wanted when the caller has it from an earlier run: then neither a
// value nor an exception may take its place.
func (k *Call) Place(i, flags int) (at int, wanted bool) {
	switch {
	case flags&wire.ReplyLastItem == 0:
		return i, !k.had[i]
	case i == 0: // the exception, which is an item; the generator's own value follows
		item, wanted := k.feed.raises()
		return int(item) + 1, wanted
	}
	return 0, true
}

// ReturnID returns the object that the call's return with the index i becomes.
func (k *Call) ReturnID(i int) ids.Object {
	var first ids.Object
	copy(first[:], k.Task[:])
	return ids.NewObject(first.Count()+uint64(i), k.Caller.Owner, k.Caller.Job, uint32(i+1))
}

// traced tells the tracer of a stage of the call. It is a branch while nothing is traced.
func (k *Call) traced(s trace.Stage) {
	if trace.On {
		k.trace(s)
	}
}

// trace leaves constructors out: nobody waits for their answers, and they have no caller.
func (k *Call) trace(s trace.Stage) {
	if k.Actor == nil {
		trace.Call(s, k.Task.Count(), k.Caller.Owner, k.Caller.pipe.FD())
	}
}
