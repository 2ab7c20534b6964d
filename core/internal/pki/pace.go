package pki

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// What addresses may cost from which connections come that prove nothing. A handshake costs some tenths of a millisecond, so
// one address takes a few hundredths of a processor at most.
const (
	freeFailures  = 256  // connections without a proof, before an address is limited
	failureRate   = 50   // further ones, for each second; fewer than those that say nothing lose their places in it (strangerCount)
	mostAddresses = 1024 // that are remembered
)

// failures counts, for each address, connections that have proved nothing. An address that has too many of them is turned away
// at once, and gets failureRate of them back in each second. It is about cost: members of the same address are turned away, too, and dial again.
type failures struct {
	mu   sync.Mutex
	from map[netip.Addr]*budget
}

// budget is how many failures an address has left. It is forgotten when it is whole again.
type budget struct {
	left float64
	at   time.Time
}

// now returns what is left at a time.
func (b *budget) now(t time.Time) float64 {
	return min(b.left+t.Sub(b.at).Seconds()*failureRate, freeFailures)
}

// SourceOf returns the address that a connection counts for; the zero Addr: none. An IPv6 network of 64 bits counts as one.
func SourceOf(c net.Conn) netip.Addr {
	at, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	a := at.AddrPort().Addr().Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64) // every IPv6 address has it
		a = p.Addr()
	}
	return a
}

// over reports whether an address has no failures left.
func (f *failures) over(a netip.Addr, t time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.from[a]
	return b != nil && b.now(t) < 1
}

// add notes that a connection from an address has proved nothing.
func (f *failures) add(a netip.Addr, t time.Time) {
	if !a.IsValid() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.from[a]
	if b == nil {
		if len(f.from) >= mostAddresses {
			f.forget(t)
		}
		b = &budget{left: freeFailures}
		f.from[a] = b
	} else {
		b.left = b.now(t)
	}
	b.left, b.at = max(b.left-1, 0), t
}

// forget makes room: it drops the addresses whose budget is whole, or else the one that has the most left.
func (f *failures) forget(t time.Time) {
	var most netip.Addr
	left := -1.0
	for a, b := range f.from {
		n := b.now(t)
		if n >= freeFailures {
			delete(f.from, a)
		} else if n > left {
			most, left = a, n
		}
	}
	if len(f.from) >= mostAddresses {
		delete(f.from, most)
	}
}
