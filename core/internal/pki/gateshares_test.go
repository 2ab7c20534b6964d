package pki

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// arrive brings a connection from an address, which does not wait.
func arrive(t *testing.T, g *Gate, from string) visitor {
	t.Helper()
	far, near := net.Pipe()
	s, err := g.Arrive(caller{near, from})
	if err != nil {
		t.Fatal(err)
	}
	return visitor{s, far}
}

// placed reports whether a connection has a place now.
func (v visitor) placed() bool {
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	return !v.since.IsZero() && v.open()
}

// One address takes all places, and connections of others have one at once, up to the same number for each.
func TestGate_OneAddressTakesAllPlaces_OthersGetTheirShareAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := NewGate(), time.Now()
		var flood []visitor
		for i := range strangerCount + lineOfOne {
			flood = append(flood, arrive(t, g, fmt.Sprintf("10.0.0.1:%d", 1+i)))
		}
		far, near := net.Pipe()
		if _, err := g.Arrive(caller{near, "10.0.0.1:9"}); !errors.Is(err, ErrLineFull) || (visitor{far: far}).open() {
			t.Errorf("one more of the address is in line: %v", err)
		}
		var others []visitor
		for i := range strangerCount / 2 {
			one := arrive(t, g, fmt.Sprintf("10.0.0.2:%d", 1+i))
			if !one.placed() {
				t.Fatalf("connection %d of another address has no place", i)
			}
			others = append(others, one)
		}
		if time.Since(began) != 0 {
			t.Errorf("it took %v", time.Since(began))
		}
		for i, v := range flood[:strangerCount] {
			if v.open() != (i >= strangerCount/2) {
				t.Errorf("connection %d of the first address: open %v", i, v.open())
			}
		}
		if late := arrive(t, g, "10.0.0.2:99"); late.placed() {
			t.Error("the second address has more than its share at once")
		}
		third := arrive(t, g, "10.0.0.3:1") // the oldest of the others gives way
		if !third.placed() || g.placed != strangerCount {
			t.Errorf("a third address: %v, %d places", third.placed(), g.placed)
		}
		for _, v := range others[1:] {
			if !v.open() {
				t.Error("a connection of an address with an even share lost its place within a second")
			}
		}
	})
}

// As many addresses as there are places have one each: who comes then waits for the oldest one's second, and not behind the lines of others.
func TestGate_EachPlaceHasAnAddress_NextOneWaitsASecondBeforeOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := NewGate(), time.Now()
		var all []visitor
		for i := range strangerCount {
			all = append(all, arrive(t, g, fmt.Sprintf("10.0.1.%d:1", i)))
			time.Sleep(time.Millisecond)
		}
		for i := range 3 { // addresses that have a place each want more
			for j := range lineOfOne {
				arrive(t, g, fmt.Sprintf("10.0.1.%d:%d", 40+i, 2+j))
			}
		}
		late := arrive(t, g, "10.0.2.1:1")
		if late.placed() {
			t.Fatal("it has a place at once")
		}
		err := late.Wait(t.Context())
		synctest.Wait()
		if err != nil || time.Since(began) != strangerGrace || all[0].open() || !all[1].open() {
			t.Errorf("%v after %v, the oldest is open: %v, the next one: %v", err, time.Since(began), all[0].open(), all[1].open())
		}
	})
}

// The line has bounds: an address with a shorter one takes the last place of the longest.
func TestGate_LineIsFull_LongestGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		for i := range strangerCount {
			arrive(t, g, fmt.Sprintf("10.0.1.%d:1", i))
		}
		var last []visitor
		for i := range lineOfAll / lineOfOne {
			for j := range lineOfOne - 1 {
				arrive(t, g, fmt.Sprintf("10.0.1.%d:%d", i, 2+j))
			}
			last = append(last, arrive(t, g, fmt.Sprintf("10.0.1.%d:99", i)))
		}
		late := arrive(t, g, "10.0.2.1:1")
		g.mu.Lock()
		waiting := g.waiting
		g.mu.Unlock()
		if waiting != lineOfAll {
			t.Errorf("%d wait", waiting)
		}
		if err := late.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		lost := 0
		for _, v := range last {
			if len(v.turn) == 0 {
				continue
			}
			if err := v.Wait(t.Context()); !errors.Is(err, ErrLineFull) || v.open() {
				t.Errorf("the last one of a line: %v", err)
			}
			lost++
		}
		if lost != 1 {
			t.Errorf("%d connections gave way to one", lost)
		}
	})
}

// Connections that say nothing use up what their address may fail, because they lose their places faster than it gets failures back.
func TestGate_SilentConnectionsOfOneAddress_AreTurnedAwayInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		taken, away := 0, 0
		var all sync.WaitGroup
		defer all.Wait()
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
			far, near := net.Pipe()
			s, err := g.Arrive(caller{near, "10.0.0.1:1"})
			switch {
			case errors.Is(err, ErrTooMany):
				away++
			case errors.Is(err, ErrLineFull):
			case err != nil:
				t.Fatal(err)
			default:
				all.Go(func() {
					defer far.Close()
					if s.Wait(ctx) == nil {
						if _, err := s.Read(make([]byte, 1)); err != nil {
							s.Close()
						}
					}
				})
				taken++
			}
			if err := call(t, g, "10.0.0.2:1", true); err != nil {
				t.Fatalf("a member of another address after %v: %v", time.Since(began), err)
			}
		}
		if away == 0 {
			t.Errorf("none of %d was turned away", taken)
		}
		if most := freeFailures + strangerCount + lineOfOne + 60*failureRate; taken > most {
			t.Errorf("%d were taken in a minute, at most %d may be", taken, most)
		}
	})
}
