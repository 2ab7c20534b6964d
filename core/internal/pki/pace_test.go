package pki

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// caller is a connection from an address.
type caller struct {
	net.Conn
	from string
}

func (c caller) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from))
}

// call enters and leaves with or without a proof.
func call(t *testing.T, g *Gate, from string, proof bool) error {
	t.Helper()
	far, near := net.Pipe()
	defer far.Close()
	s, err := g.Enter(t.Context(), caller{near, from})
	if err != nil {
		return err
	}
	if proof {
		err = s.Known()
	}
	return errors.Join(err, s.Close(), s.Close())
}

func TestGate_AddressProvesNothing_IsTurnedAwayAndOthersAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		for i := range freeFailures {
			if err := call(t, g, fmt.Sprintf("10.0.0.1:%d", 1+i), false); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
			if err := call(t, g, "10.0.0.2:1", true); err != nil {
				t.Fatalf("a member: %v", err)
			}
		}
		if err := call(t, g, "10.0.0.1:9", true); !errors.Is(err, ErrTooMany) {
			t.Errorf("after %d failures: %v", freeFailures, err)
		}
		for range 2 * freeFailures {
			if err := call(t, g, "10.0.0.2:1", true); err != nil {
				t.Fatalf("a member: %v", err)
			}
		}
		time.Sleep(time.Second)
		taken := 0
		for call(t, g, "10.0.0.1:9", false) == nil {
			taken++
		}
		if taken != failureRate {
			t.Errorf("%d connections a second later, want %d", taken, failureRate)
		}
		time.Sleep(time.Hour)
		if err := call(t, g, "[::ffff:10.0.0.1]:9", false); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestGate_ManyAddressesOfOneNetwork_CountAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		for i := range freeFailures {
			if err := call(t, g, fmt.Sprintf("[2001:db8::%x]:1", 1+i), false); err != nil {
				t.Fatal(err)
			}
		}
		if err := call(t, g, "[2001:db8::ffff:1]:1", false); !errors.Is(err, ErrTooMany) {
			t.Errorf("another address of the network: %v", err)
		}
		if err := call(t, g, "[2001:db9::1]:1", false); err != nil {
			t.Errorf("another network: %v", err)
		}
	})
}

func TestGate_ManyAddresses_AreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		bad := "10.9.9.9:1"
		for call(t, g, bad, false) == nil {
		}
		for i := range 3 * mostAddresses {
			if err := call(t, g, fmt.Sprintf("10.1.%d.%d:1", i/256, i%256), false); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(g.failures.from); n > mostAddresses {
			t.Errorf("%d addresses are remembered", n)
		}
		if err := call(t, g, bad, false); !errors.Is(err, ErrTooMany) {
			t.Errorf("the worst one was forgotten: %v", err)
		}
	})
}
