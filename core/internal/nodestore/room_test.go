package nodestore

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A store that gives less room than was asked for is not written to.
func TestCreate_LessRoomThanAsked_IsRefused(t *testing.T) {
	n := newNode(t, Options{})
	n.on(wire.TObjCreate, func(m *wire.Message) { _ = m.Reply(wire.ObjPlace{Offset: 4096, Size: 100}) })
	for _, x := range []struct {
		size int
		ok   bool
	}{{99, true}, {100, true}, {101, false}} {
		_, err := n.s.create(n.id(7), x.size, Writing{})
		if (err == nil) != x.ok || err != nil && !strings.Contains(err.Error(), "gave 100 of 101 bytes") {
			t.Errorf("%d bytes: %v", x.size, err)
		}
	}
}

// A wait for room ends by a signal whose handler has raised, or by the end of the call, and the request is taken back.
// Signals of a thread that is not the program's are not looked after.
func TestCreate_StoreIsFull_EndsBySignalOrStop(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for what, x := range map[string]struct {
		how     Writing
		raises  bool
		stopped bool // by Stop
		code    fault.Code
	}{
		"a signal raises":                       {Writing{Program: true}, true, false, fault.Interrupted},
		"the call is stopped":                   {Writing{Stop: closed}, true, true, ""},
		"a signal of a program that is stopped": {Writing{Program: true, Stop: closed}, true, false, fault.Interrupted},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t, Options{Signals: func() bool { return x.raises }})
			var freed atomic.Int32
			n.on(wire.TObjCreate, func(*wire.Message) {})
			n.on(wire.TObjFree, func(*wire.Message) { freed.Add(1) })
			_, err := n.s.create(n.id(7), 100, x.how)
			if errors.Is(err, ErrTakenBack) != x.stopped || !x.stopped && fault.CodeOf(err) != x.code {
				t.Errorf("%s: %v", what, err)
			}
			if n.told(wire.TObjFree); freed.Load() != 1 {
				t.Errorf("%s: the request is taken back %d times", what, freed.Load())
			}
		})
	}
}

// What a daemon that has gone says of a request is that the session has ended, and why.
func TestCreate_SessionHasEnded_SaysWhy(t *testing.T) {
	n := newNode(t, Options{})
	over := errors.New("the daemon is gone")
	n.on(wire.TObjCreate, func(m *wire.Message) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.s.End(over)
		_ = m.Fail(fault.New(fault.Internal, "broken pipe"))
	})
	if _, err := n.s.create(n.id(7), 100, Writing{}); !errors.Is(err, over) {
		t.Error(err)
	}
}
