package pulls

import (
	"net"
	"time"
)

// times are the times of bulk connections.
type times struct {
	patience  time.Duration // how long a holder may send nothing before it is not read from any more
	waitEvery time.Duration // how often a holder says that a chunk is not there yet
	slowFrom  time.Duration // a stream whose chunk takes longer may lose it to another one; see stream.cutSlow
}

var usualTimes = times{patience: 5 * time.Second, waitEvery: time.Second, slowFrom: 2 * time.Second}

// silence is how long a node that reads may ask for nothing, and take nothing. It closes a connection that it does not use much earlier.
const silence = 6 * idleFor

// patient is a connection whose reads and writes fail when for limit nothing has moved. One goroutine may read while another one writes.
type patient struct {
	net.Conn
	limit            time.Duration
	reading, writing time.Time // when the deadlines were set
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	if err := p.extend(&p.reading, p.SetReadDeadline); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// Write implements io.Writer.
func (p *patient) Write(b []byte) (int, error) {
	if err := p.extend(&p.writing, p.SetWriteDeadline); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// extend moves a deadline, unless it was moved a short time ago.
func (p *patient) extend(last *time.Time, set func(time.Time) error) error {
	now := time.Now()
	if now.Sub(*last) < p.limit/8 {
		return nil
	}
	*last = now
	return set(now.Add(p.limit))
}
