package pki

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// visitor is a connection at a gate and its other end.
type visitor struct {
	*Stranger
	far net.Conn
}

func enter(t *testing.T, g *Gate) visitor {
	t.Helper()
	far, near := net.Pipe()
	s, err := g.Enter(t.Context(), near)
	if err != nil {
		t.Fatal(err)
	}
	return visitor{s, far}
}

// open reports whether a connection has not been closed from this side.
func (v visitor) open() bool { return !errors.Is(v.far.SetReadDeadline(time.Time{}), io.ErrClosedPipe) }

func TestGate_Full_OldestGivesWayAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := NewGate(), time.Now()
		var all []visitor
		for range strangerCount {
			all = append(all, enter(t, g))
		}
		if time.Since(began) != 0 {
			t.Fatalf("the first %d waited", strangerCount)
		}
		late := enter(t, g)
		if got := time.Since(began); got != strangerGrace || all[0].open() || !all[1].open() || !late.open() {
			t.Errorf("after %v: oldest %v, second %v, late %v", got, all[0].open(), all[1].open(), late.open())
		}
		if err := all[0].Known(); !errors.Is(err, ErrPlaceLost) {
			t.Errorf("one that has lost its place is known: %v", err)
		}
		second := enter(t, g)
		if all[1].open() || !second.open() || !late.open() || time.Since(began) != strangerGrace {
			t.Errorf("the next one is the second oldest, at once: %v, %v, %v after %v", all[1].open(), second.open(), late.open(), time.Since(began))
		}
	})
}

func TestGate_PlaceIsGivenBack_WhoWaitsGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, leave := range map[string]func(v visitor) error{"known": func(v visitor) error { return v.Known() }, "closed": func(v visitor) error { return v.Close() }} {
			g, began := NewGate(), time.Now()
			var last visitor
			for range strangerCount {
				last = enter(t, g)
			}
			time.AfterFunc(time.Millisecond, func() {
				if err := leave(last); err != nil {
					t.Error(err)
				}
			})
			enter(t, g)
			if got := time.Since(began); got != time.Millisecond {
				t.Errorf("%s: waited for %v", name, got)
			}
		}
	})
}

func TestGate_ContextEnds_ConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		for range strangerCount {
			enter(t, g)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		far, near := net.Pipe()
		if _, err := g.Enter(ctx, near); !errors.Is(err, context.DeadlineExceeded) || (visitor{far: far}).open() {
			t.Errorf("%v", err)
		}
	})
}

func TestStranger_SaysTooMuch_ReadsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := enter(t, NewGate())
		go func() { _, _ = v.far.Write(make([]byte, strangerBytes+1)) }()
		n, err := io.Copy(io.Discard, v)
		if n != strangerBytes || !errors.Is(err, ErrNotProved) {
			t.Errorf("%d bytes were read: %v", n, err)
		}
		v.Close()
		known := enter(t, NewGate())
		if err := known.Known(); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = known.far.Write(make([]byte, 3*strangerBytes)); known.far.Close() }()
		if n, err := io.Copy(io.Discard, known); n != 3*strangerBytes || err != nil {
			t.Errorf("of one that is known %d bytes were read: %v", n, err)
		}
	})
}

func TestStranger_TakesTooLong_ReadsFailWhateverDeadlineIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, set := range map[string]func(v visitor) error{
			"none":        func(visitor) error { return nil },
			"later":       func(v visitor) error { return v.SetDeadline(time.Now().Add(time.Hour)) },
			"never":       func(v visitor) error { return v.SetDeadline(time.Time{}) },
			"never reads": func(v visitor) error { return v.SetReadDeadline(time.Time{}) },
		} {
			v, began := enter(t, NewGate()), time.Now()
			if err := set(v); err != nil {
				t.Fatal(err)
			}
			if _, err := v.Read(make([]byte, 1)); err == nil || time.Since(began) != strangerTime {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
		}
		v := enter(t, NewGate())
		if err := v.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := v.Write([]byte{1}); err == nil || time.Since(began) != strangerTime {
			t.Errorf("a write: %v after %v", err, time.Since(began))
		}
		v = enter(t, NewGate())
		if err := v.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		if _, err := v.Read(make([]byte, 1)); err == nil || time.Since(began) != time.Second {
			t.Errorf("an earlier deadline: %v after %v", err, time.Since(began))
		}
		v = enter(t, NewGate())
		if err := v.Known(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { _, _ = v.far.Write([]byte{1}) })
		if _, err := v.Read(make([]byte, 1)); err != nil {
			t.Errorf("one that is known was cut off: %v", err)
		}
	})
}

// A whole join fits into the bounds, and lifts them when the proof was right.
func TestGate_Join_FitsAndIsKnownAfterwards(t *testing.T) {
	a := newAuthority(t, Cluster{4})
	head := member(t, a, RoleHead, 1)
	x, y := sockets(t)
	g := NewGate()
	s, err := g.Enter(t.Context(), y)
	if err != nil {
		t.Fatal(err)
	}
	joiner, server := overTLS(t, x, s, head)
	e := converse(t, joiner, server, fixed(1), []Token{fixed(1)}, Ask{Body: make([]byte, MaxFrame-proofSize-8)}, func(Ask) (Answer, error) {
		return Answer{}, s.Known()
	})
	if e.client != nil || e.server != nil || g.placed != 0 {
		t.Fatalf("%+v, %d places taken", e, g.placed)
	}
	go func() { _, _ = joiner.conn.Write(make([]byte, 2*strangerBytes)) }()
	if _, err := io.ReadFull(server.conn, make([]byte, 2*strangerBytes)); err != nil {
		t.Errorf("after the join: %v", err)
	}
	// A member shows its certificate within the bounds.
	x, y = sockets(t)
	if s, err = g.Enter(t.Context(), y); err != nil {
		t.Fatal(err)
	}
	if seen, err := meet(t, x, s, member(t, a, RoleNode, 2).TLS("link"), head.TLS("link", JoinProtocol)); err != nil || seen != [2]uint32{1, 2} {
		t.Errorf("%v, %v", seen, err)
	}
}
