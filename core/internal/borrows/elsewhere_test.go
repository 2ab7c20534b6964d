package borrows

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What is held for a process that has ended may be with others by now, who are about to register. On another node that may take a while.
func TestAsk_ProcessHasEnded_HeldForALittleLongerOnAnotherNode(t *testing.T) {
	for what, x := range map[string]struct {
		node uint32
		wait time.Duration
	}{
		"of the own node":   {1, 0},
		"of another node":   {2, wire.Linger},
		"that says nothing": {3, wire.Linger},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newProcess(t)
			who := ids.NewWorkerOn(x.node).Owner()
			if x.node == 3 {
				p.others[wire.AddressOf(who)] = func(m *wire.Message) { m.Peer().Close() }
			}
			p.mu.Lock()
			given, answered := p.table.New(0, 1), p.table.New(0, 1)
			p.table.Pin(given)
			p.table.Retain(wire.AddressOf(who), []*refs.Object{given})
			p.table.Pin(answered)
			socket := refs.TaskSocket{Caller: who, Addr: wire.AddressOf(who), Number: 1}
			p.table.HoldResult(socket, []*refs.Object{answered})
			p.m.CallerLeft(socket)
			p.mu.Unlock()
			held := func() bool {
				synctest.Wait()
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.table.Retained()) > 0 != p.table.Unconfirmed() {
					t.Errorf("a process %s: %d calls are retained, an answer is held: %v", what, len(p.table.Retained()), p.table.Unconfirmed())
				}
				return p.table.Unconfirmed()
			}
			if time.Sleep(refs.RetainFirst + x.wait/2); held() != (x.wait > 0) {
				t.Errorf("a process %s: what it was given is held after half the time: %v", what, x.wait == 0)
			}
			if time.Sleep(x.wait); held() {
				t.Errorf("a process %s: what it was given is held for ever", what)
			}
		})
	}
}
