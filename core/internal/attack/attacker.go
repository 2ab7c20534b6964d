package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// port is one that the cluster listens at.
type port struct {
	kind    string // head, node or http
	address string
	number  uint32 // of the node: see learn; the head's is 0
	pace    *pace  // of connections; nil: there is none
	from    net.IP // the address of this machine that connects; nil: the kernel chooses it
}

// pace keeps attacks slow that are about what connections say: a process turns away an address that fails too often.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// perSecond is how many connections a port gets in a second from an attack that is no flood.
const perSecond = 40

// wait waits until it is a connection's turn.
func (p *pace) wait() {
	if p == nil {
		return
	}
	time.Sleep(time.Until(p.turn()))
}

// turn takes the next turn.
func (p *pace) turn() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.next
	if now := time.Now(); at.Before(now) {
		at = now
	}
	p.next = at.Add(time.Second / perSecond)
	return at
}

// attacker is one run. The report is guarded by mu, the rest is not changed while an attack has goroutines.
type attacker struct {
	ports   []port
	token   pki.Token
	state   string // a copy of the head's folder of state; empty: there is none
	canary  string // the file that a bomb makes
	release string
	lines   int  // connections of slowloris, for each port
	many    bool // each goroutine connects from an address of its own
	workers int  // how many connections most attacks make at a time
	frames  int  // that the fuzzing attacks send; 0: as many as the time allows
	end     time.Time

	mu       sync.Mutex
	done     map[string]int
	breaches []string
}

// count notes that something was done.
func (a *attacker) count(what string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done[what] += n
}

// total returns how often something was done.
func (a *attacker) total(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done[what]
}

// mostBreaches bounds the report.
const mostBreaches = 20

// breach notes that something had success which must have none.
func (a *attacker) breach(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.breaches) < mostBreaches {
		a.breaches = append(a.breaches, fmt.Sprintf(format, args...))
	}
}

// each calls f on several goroutines, for all ports in turn, until it returns false or an error. Each goroutine has random numbers of its own.
func (a *attacker) each(ports []port, f func(p port, chance *rand.Rand) (more bool, err error)) error {
	if len(ports) == 0 {
		return errors.New("the attack fits none of the ports")
	}
	failed := make(chan error, a.workers)
	for w := range a.workers {
		go func() {
			chance := rand.New(rand.NewPCG(rand.Uint64(), uint64(w)))
			ports := a.from(w, ports)
			for i := w; ; i++ {
				if more, err := f(ports[i%len(ports)], chance); !more || err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	var all []error
	for range a.workers {
		all = append(all, <-failed)
	}
	return errors.Join(all...)
}

// from returns the ports as one goroutine of an attack from many addresses connects to them: each has an address and a pace of its own.
func (a *attacker) from(w int, ports []port) []port {
	if !a.many {
		return ports
	}
	ports = slices.Clone(ports)
	for i := range ports {
		ports[i].from, ports[i].pace = net.IPv4(127, 0, 1, byte(1+w%250)), new(pace)
	}
	return ports
}

// linked are the ports at which members of the cluster connect.
func (a *attacker) linked() []port {
	return slices.DeleteFunc(slices.Clone(a.ports), func(p port) bool { return p.kind == "http" })
}

// heads are the ports at which processes join.
func (a *attacker) heads() (addresses []string) {
	for _, p := range a.ports {
		if p.kind == "head" {
			addresses = append(addresses, p.address)
		}
	}
	return addresses
}

// client asks heads as somebody who knows the token.
func (a *attacker) client(heads ...string) *join.Client {
	return &join.Client{Heads: heads, Token: a.token, Node: ids.NewNode(), Release: a.release}
}

// joined makes this program a node with a certificate. The node never registers, so nothing is placed on it.
func (a *attacker) joined() (join.Membership, error) {
	heads := a.heads()
	if len(heads) == 0 {
		return join.Membership{}, errors.New("-port: no head is given, and the attack joins first")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		m, err := a.client(heads...).Join(ctx)
		if err == nil || ctx.Err() != nil {
			return m, err
		}
	}
}

// Bounds of what a process may do with a stranger.
const (
	patience  = 12 * time.Second // until a connection must be closed: 5 s, and as long as it may wait for a place
	mostReply = 4 << 10          // bytes of an answer: a handshake with a certificate, or an error of HTTP
)

func dial(p port) (net.Conn, error) {
	p.pace.wait()
	d := net.Dialer{Timeout: patience}
	if p.from != nil {
		d.LocalAddr = &net.TCPAddr{IP: p.from}
	}
	c, err := d.Dial("tcp", p.address)
	if err != nil {
		return nil, fmt.Errorf("%s port: %w", p.kind, err)
	}
	return c, nil
}

// shot sends bytes to a port and reads until the end of the connection, which must come in time and after little. It returns the answer.
func (a *attacker) shot(what string, p port, payload []byte) ([]byte, error) {
	c, err := dial(p)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = c.Write(payload) // it fails when the other side has seen enough
	_ = c.(*net.TCPConn).CloseWrite()
	a.count(what, 1)
	return a.closes(what, p, c), nil
}

// closes reads until the other side closes the connection, and notes a breach if it does not or if it says much.
func (a *attacker) closes(what string, p port, c net.Conn) []byte {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	answer, err := io.ReadAll(io.LimitReader(c, mostReply+1))
	var slow net.Error
	switch {
	case errors.As(err, &slow) && slow.Timeout():
		a.breach("%s: the %s port keeps the connection for more than %v", what, p.kind, patience)
	case len(answer) > mostReply:
		a.breach("%s: the %s port answers with more than %d bytes", what, p.kind, mostReply)
	case bytes.Contains(answer, []byte("goroutine ")):
		a.breach("%s: the %s port answers with a stack", what, p.kind)
	}
	return answer
}

// joinTLS dials a port as a process that joins, and leaves the rest to the caller.
func joinTLS(p port) (*tls.Conn, error) {
	nc, err := dial(p)
	if err != nil {
		return nil, err
	}
	c := tls.Client(nc, pki.JoinTLS())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, fmt.Errorf("%w: %w", errTurnedAway, err)
	}
	return c, nil
}

// errTurnedAway means that a port has closed a connection before it has said anything, as it does in a flood.
var errTurnedAway = errors.New("no TLS as a process that joins")
