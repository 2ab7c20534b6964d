// Package patient has connections whose reads and writes fail when nothing has moved for a while.
package patient

import (
	"net"
	"time"
)

// Conn is a connection whose reads and writes fail when nothing has moved for its limit. One goroutine may read while another one writes.
type Conn struct {
	net.Conn
	limit            time.Duration
	reading, writing time.Time // when the deadlines were set
}

// New returns a patient connection.
func New(c net.Conn, limit time.Duration) *Conn { return &Conn{Conn: c, limit: limit} }

// Read implements io.Reader.
func (p *Conn) Read(b []byte) (int, error) {
	if err := p.extend(&p.reading, p.SetReadDeadline); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// Write implements io.Writer.
func (p *Conn) Write(b []byte) (int, error) {
	if err := p.extend(&p.writing, p.SetWriteDeadline); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// extend moves a deadline, unless it was moved a short time ago.
func (p *Conn) extend(last *time.Time, set func(time.Time) error) error {
	now := time.Now()
	if now.Sub(*last) < p.limit/8 {
		return nil
	}
	*last = now
	return set(now.Add(p.limit))
}
