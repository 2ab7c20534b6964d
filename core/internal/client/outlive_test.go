package client

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A successor, and a worker that no successor can replace, stay while a caller has not confirmed an answer. They end as soon
// as the caller has confirmed it, has read no more than that, has ended, or the session is over.
func TestStays_AnswerIsNotConfirmed_EndsWithTheLastReason(t *testing.T) {
	who := ids.Owner{7}
	socket := refs.TaskSocket{Caller: who, Addr: "/caller", Number: 7}
	for what, happens := range map[string]func(c *Client, answer uint64){
		"the caller confirms":      func(c *Client, answer uint64) { c.table.Confirmed(who, answer) },
		"the caller reads no more": func(c *Client, _ uint64) { c.table.CallerRead(socket, true, refs.RetainFirst) },
		"the caller has ended":     func(c *Client, _ uint64) { c.borrows.Left(who) },
		"the session is over":      func(c *Client, _ uint64) { c.fail(errors.New("it is over")) },
		"the daemon is gone":       func(c *Client, _ uint64) { go c.daemon.Close() },
	} {
		for how, stay := range map[string]func(c *Client){"successor": (*Client).outlive, "worker": (*Client).stayWhileNeeded} {
			d := startDaemon(t)
			d.mu.Lock()
			d.takesOver = func(u *net.UnixConn, _ []byte) { u.Close() } // the daemon has no successor for it
			d.mu.Unlock()
			c := d.programless()
			c.mu.Lock()
			o := c.table.New(0, 1)
			c.table.Pin(o)
			answer := c.table.HoldResult(socket, []*refs.Object{o})
			c.mu.Unlock()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				c.mu.Lock()
				defer c.mu.Unlock()
				stay(c)
			}()
			waitFor(t, "it stays", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.leaving != nil
			})
			c.mu.Lock()
			c.table.BorrowerGone(ids.Owner{8}) // another process
			c.mu.Unlock()
			select {
			case <-ended:
				t.Errorf("%s, %s: it has ended before", how, what)
			default:
			}
			c.mu.Lock()
			happens(c, answer)
			c.mu.Unlock()
			select {
			case <-ended:
			case <-time.After(testLimit):
				t.Fatalf("%s, %s: it stays", how, what)
			}
		}
	}
}

// busyDialer can connect to nobody while it is told to.
type busyDialer struct {
	transport.Dialer
	mu    sync.Mutex
	busy  bool
	tries int
}

func (d *busyDialer) DialControl(addr string, h wire.Hello, handle wire.Handler, closed func(error)) (*wire.Peer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy {
		d.tries++
		return nil, unix.EMFILE
	}
	return d.Dialer.DialControl(addr, h, handle, closed)
}

func (d *busyDialer) set(busy bool) (tries int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = busy
	return d.tries
}

// A worker has no free descriptor when the task socket of a caller breaks. It cannot ask the caller, and holds the answer
// until it can: the caller may be reading it.
func TestUnread_WorkerHasNoDescriptor_HoldsTheAnswerUntilItCanAsk(t *testing.T) {
	d := startDaemon(t)
	c, w := d.driver(), d.worker(echo)
	c.mu.Lock()
	c.submit.Leases[7] = new(submit.Lease) // so the caller still reads
	c.mu.Unlock()
	dialer := &busyDialer{Dialer: w.dialer, busy: true}
	w.mu.Lock()
	w.links = transport.NewLinks(&w.mu, &w.borrows, dialer, (*host)(w).hello, nil)
	w.borrows.Init(&w.mu, (*host)(w), w.links, w.served)
	w.mu.Unlock()
	in, there := holdsFor(t, w, c.self, c.info.Addr)
	breaks(w, in)
	waitFor(t, "the worker has tried several times", func() bool {
		dialer.mu.Lock()
		defer dialer.mu.Unlock()
		return dialer.tries >= 4
	})
	if !there() {
		t.Error("the answer is let go of although its caller lives")
	}
	dialer.set(false)
	waitFor(t, "the worker is connected to the caller", func() bool { return c.Footprint(false)["n_serving"] > 0 })
	if !there() {
		t.Error("the answer is let go of although its caller still reads")
	}
	c.mu.Lock()
	delete(c.submit.Leases, 7)
	c.mu.Unlock()
	waitFor(t, "the answer is let go of", func() bool { return !there() })
}
