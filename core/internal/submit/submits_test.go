package submit

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// template registers a function without retries.
func template(t testing.TB, c *quiet, name string) int {
	t.Helper()
	return retried(t, c, name, 0)
}

// retried registers a function that may be tried again so often.
func retried(t testing.TB, c *quiet, name string, retries int) int {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := c.NewTemplate(&Template{Name: name, FID: []byte((name + "---------------")[:16]), Blob: []byte(name), Returns: 1, MaxRetries: retries})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// submitText submits a task with a small argument, and returns the reference to its result.
func submitText(t testing.TB, c *quiet, tm int, text string, deps ...ids.Object) ids.Object {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.NewCall(c.Templates[tm], 0, 0)
	k.SetArguments([]byte(text))
	for _, id := range deps {
		o := c.table.Find(id)
		c.table.Pin(o)
		k.AddDependency(o)
	}
	c.MakeReturns(k, 0)
	c.Submit(k)
	first, _ := c.ReturnsOf(k)
	return first
}

// withPipe gives a channel a socket.
func withPipe(o *Channel, p Pipe) *Channel {
	o.Pipe = p
	return o
}

// silentPipe is a socket on which nothing leaves and nothing comes.
type silentPipe struct {
	out    []byte
	closed bool
}

func (p *silentPipe) Buffer() []byte                             { return p.out }
func (p *silentPipe) Queue(b []byte)                             { p.out = b }
func (p *silentPipe) Unsent() int                                { return len(p.out) }
func (*silentPipe) Refused() bool                                { return false }
func (*silentPipe) Full() bool                                   { return false }
func (*silentPipe) WhenSent(func())                              {}
func (*silentPipe) Flush()                                       {}
func (*silentPipe) SendSoon()                                    {}
func (p *silentPipe) Close()                                     { p.closed = true }
func (p *silentPipe) CloseWhenRead()                             { p.closed = true }
func (p *silentPipe) Closed() bool                               { return p.closed }
func (p *silentPipe) SendCall(b []byte, _ uint32, _ int, _ bool) { p.out = b }
func (*silentPipe) CallAnswered(uint32, time.Duration)           {}
func (*silentPipe) TellWakeup()                                  {}
func (*silentPipe) FD() int                                      { return -1 }
