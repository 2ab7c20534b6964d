package play

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Held is a lease with a connection to its worker.
type Held struct {
	wire.LeaseGrant
	D    *Driver
	conn net.Conn
	r    *bufio.Reader
}

// Tell sends a line to the worker and returns its answer, "" when it died.
func (h *Held) Tell(line string) string {
	h.D.T.Helper()
	if h.conn == nil {
		o, err := wire.ParseAddress(h.Addr)
		if err != nil {
			h.D.T.Fatal(err)
		}
		c, err := h.dial(o)
		if err != nil {
			h.D.T.Fatal(err)
		}
		h.conn, h.r = c, bufio.NewReader(c)
		h.D.T.Cleanup(func() { c.Close() })
	}
	_ = h.conn.SetDeadline(time.Now().Add(Limit))
	if _, err := fmt.Fprintln(h.conn, line); err != nil {
		return ""
	}
	answer, _ := h.r.ReadString('\n')
	return strings.TrimSuffix(answer, "\n")
}

// dial connects to the worker.
func (h *Held) dial(o ids.Owner) (net.Conn, error) {
	if !h.D.elsewhere(o) {
		return net.Dial("unix", wire.SocketPath(h.D.Dir, o))
	}
	fd, err := h.D.Dialer().Dial(h.Addr, h.D.Says(wire.RoleLease, h.LeaseID), -1)
	if err != nil {
		return nil, err
	}
	return connOf(fd)
}

// Says has the worker say something to the daemon, and gives the error's text.
func (h *Held) Says(verb string, t wire.Type, body any) string {
	h.D.T.Helper()
	b, err := msgpack.Marshal(body)
	if err != nil {
		h.D.T.Fatal(err)
	}
	return h.Tell(fmt.Sprintf("%s %d %x", verb, t, b))
}

// GiveBack returns the lease.
func (h *Held) GiveBack() { h.D.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: h.LeaseID}) }

// Fill writes lines to the worker, to which Tell has been called, until it has taken nothing for a time,
// or so many bytes. It returns how many bytes were taken.
func (h *Held) Fill(patience time.Duration, most int) (sent int) {
	h.D.T.Helper()
	b := bytes.Repeat([]byte(strings.Repeat("x", 999)+"\n"), 32)
	for sent < most {
		_ = h.conn.SetWriteDeadline(time.Now().Add(patience))
		n, err := h.conn.Write(b)
		if sent += n; err != nil {
			break
		}
	}
	return sent
}
