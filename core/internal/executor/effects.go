package executor

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/callargs"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// effects is what a worker's queue and the fetching of arguments have the executor do. The mutex is held.
type effects Executor

var (
	_ execute.Effects  = (*effects)(nil)
	_ callargs.Session = (*effects)(nil)
	_ execute.Pipe     = (*transport.Conn)(nil)
)

// Wake implements execute.Effects and callargs.Session.
func (x *effects) Wake(w *wait.Wait) { x.poller.Finish(w) }

// LookSoon implements execute.Effects.
func (x *effects) LookSoon() { x.poller.LookSoon() }

// CollectsAnswers implements execute.Effects: an answer waits until the event loop has nothing to run, which sends what all
// that ran together have answered.
func (x *effects) CollectsAnswers() bool { return x.loop.on && !x.poller.Led() }

// Blocked implements execute.Effects.
func (x *effects) Blocked(blocked bool) {
	t := wire.TUnblocked
	if blocked {
		t = wire.TBlocked
	}
	x.objects.PushDaemon(t, nil)
}

// ConstructorFailed implements execute.Effects.
func (x *effects) ConstructorFailed(s *wire.ActorStart, why *fault.Error) {
	x.objects.PushDaemon(wire.TActorReady, wire.ActorReady{ActorID: s.ActorID, Incarnation: s.Incarnation, Message: why.Message})
}

// InterruptProgram implements execute.Effects.
func (x *effects) InterruptProgram() bool {
	if x.interrupt == nil {
		return false
	}
	x.interrupt()
	return true
}

// CancelChildren implements execute.Effects.
func (x *effects) CancelChildren(token uint64, force bool) <-chan struct{} {
	return x.session.CancelChildren(token, force)
}

// EndByForce implements execute.Effects.
func (x *effects) EndByForce(k *execute.Call, children <-chan struct{}) {
	go (*Executor)(x).EndByForce(k, children)
}

// Unpin implements execute.Effects.
func (x *effects) Unpin(held []*refs.Object) {
	x.table.UnpinAll(held)
	x.table.CarryOut()
}

// CallerLeft implements execute.Effects.
func (x *effects) CallerLeft(s refs.TaskSocket) { x.borrows.CallerLeft(s) }

// NoMoreCalls implements execute.Effects.
func (x *effects) NoMoreCalls() { (*Executor)(x).wakeLoop() }

// AfterFunc implements execute.Effects.
func (x *effects) AfterFunc(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.objects.Closed() {
			f()
		}
	})
}

// GetHere implements callargs.Session.
func (x *effects) GetHere(id ids.Object) (access.Found, error) {
	x.mu.Unlock()
	defer x.mu.Lock()
	f, err := x.objects.Get(id, -1)
	if err != nil {
		return access.Found{}, err
	}
	return *f, nil
}

// SendAll implements callargs.Session.
func (x *effects) SendAll() { x.poller.SendAll() }

// Arm implements callargs.Session.
func (x *effects) Arm() { x.poller.Arm() }
