package borrows

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A process without a free descriptor cannot connect to anybody. It must not take the others for dead meanwhile.

// vain is how many attempts to connect fail: more than a second of them.
const vain = 8

// An owner that cannot be connected to for a while hears of the reference and is asked for its value later. One that has
// ended meanwhile is found out.
func TestBorrow_OwnerCannotBeConnectedTo_IsToldWhenItCan(t *testing.T) {
	for _, lives := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newProcess(t)
			registered := 0
			if p.busy["/there"] = vain; lives {
				p.others["/there"] = func(m *wire.Message) {
					if m.Type == wire.TRefWait {
						_ = m.Reply(wire.RefValue{Inline: []byte("value"), Size: 5})
						return
					}
					registered++
					_ = m.Reply(nil)
				}
			}
			p.mu.Lock()
			o := p.borrowed(1, "/there")
			p.table.Ask(o, false)
			p.mu.Unlock()
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			p.mu.Lock()
			if o.State() != refs.Pending || p.table.Unregistered() != 1 || p.links.Quiet() {
				t.Errorf("while it is tried, the reference is in state %v, %d are not registered, quiet %v", o.State(), p.table.Unregistered(), p.links.Quiet())
			}
			p.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.table.Unregistered() != 0 || lives && (o.State() != refs.Inline || registered != 1) || !lives && (o.State() != refs.Failed || o.Fault().Code != fault.OwnerDied) {
				t.Errorf("the owner lives %v: the reference is in state %v, %d are not registered, the owner has heard %d times", lives, o.State(), p.table.Unregistered(), registered)
			}
		})
	}
}

// A worker that cannot connect to the caller of a task socket that broke holds the answer until the caller says that it
// reads no more. A caller that cannot connect to a worker retains what the worker took.
func TestAsk_ProcessCannotBeConnectedTo_NothingIsLetGoOfUntilItAnswers(t *testing.T) {
	for _, lives := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newProcess(t)
			asked := map[wire.Type]int{}
			for _, addr := range []string{"/caller", "/worker"} {
				if p.busy[addr] = vain; lives {
					p.others[addr] = func(m *wire.Message) {
						p.mu.Lock()
						defer p.mu.Unlock()
						asked[m.Type]++
						_ = m.Reply(asked[m.Type] == 2)
					}
				}
			}
			socket := refs.TaskSocket{Caller: ids.Owner{7}, Addr: "/caller", Number: 7}
			p.mu.Lock()
			held, taken := p.table.New(0, 1), p.table.New(0, 1)
			p.table.Pin(held)
			p.table.HoldResult(socket, []*refs.Object{held})
			p.table.Retain("/worker", []*refs.Object{taken})
			p.m.CallerLeft(socket)
			p.mu.Unlock()
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			p.mu.Lock()
			if !p.table.Unconfirmed() || len(p.table.Retained()) != 1 || len(asked) != 0 {
				t.Errorf("while they are tried, an answer is held: %v, %d calls are retained", p.table.Unconfirmed(), len(p.table.Retained()))
			}
			p.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.table.Unconfirmed() || len(p.table.Retained()) != 0 || held.Pins()+taken.Pins() != 0 {
				t.Errorf("they live %v: an answer is held: %v, %d calls are retained", lives, p.table.Unconfirmed(), len(p.table.Retained()))
			}
			if want := 2; lives && (asked[wire.TAnswersRead] != want || asked[wire.TRegistered] != want) {
				t.Errorf("they were asked %v", asked)
			}
		})
	}
}

// The receipt of an answer reaches a worker that cannot be connected to for a while, and so does the program's wish to
// free a value.
func TestReceiptAndFree_ProcessCannotBeConnectedTo_Arrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		heard := make(chan wire.Type, 9)
		p.busy["/there"] = vain
		p.others["/there"] = func(m *wire.Message) {
			if heard <- m.Type; m.Kind == wire.Request {
				_ = m.Reply(nil)
			}
		}
		freed := make(chan error, 1)
		p.mu.Lock()
		o := p.borrowed(1, "/there")
		p.m.Receipt("/there", 7)
		p.m.FreeAtOwner(o, false, func(err error) { freed <- err })
		p.mu.Unlock()
		if err := <-freed; err != nil {
			t.Errorf("free: %v", err)
		}
		synctest.Wait()
		for _, want := range []wire.Type{wire.TRefBorrow, wire.TReceived, wire.TRefFree} {
			if got := <-heard; got != want {
				t.Errorf("it hears %s, want %s", got, want)
			}
		}
	})
}

// The program's thread that waits for an owner goes on when the session ends.
func TestFreeAtOwner_SessionEndsWhileTheOwnerIsTried_GoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		p.busy["/there"] = 1 << 30
		freed := make(chan error, 1)
		p.mu.Lock()
		o := p.borrowed(1, "/there")
		p.m.FreeAtOwner(o, false, func(err error) { freed <- err })
		p.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(freed) != 0 {
			t.Error("the owner is said to have heard")
		}
		p.mu.Lock()
		p.m.End()
		p.links.End()
		p.mu.Unlock()
		if err := <-freed; err != nil {
			t.Errorf("free: %v", err)
		}
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if o.State() != refs.Pending {
			t.Errorf("the owner is said to have ended: the reference is in state %v", o.State())
		}
	})
}

// The user hears of a process that cannot be connected to, unless the session has ended.
func TestUnconnected_TellsTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		p.busy["/there"] = 1 << 30
		p.mu.Lock()
		p.borrowed(1, "/there")
		p.mu.Unlock()
		time.Sleep(time.Minute)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.told) != 1 || !strings.Contains(p.told[0], "to the process at /there for a second: too many open files") {
			t.Errorf("told %q", p.told)
		}
		p.m.End()
		p.m.Unconnected("/there", unix.EMFILE)
		if len(p.told) != 1 {
			t.Errorf("after the session's end the user is told %q", p.told[1:])
		}
	})
}
