package client

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// lateDialer opens each connection when the test says so.
type lateDialer struct {
	transport.UnixDialer
	begun chan string // addresses
	goOn  chan struct{}
	other string // the address that the first connection goes to instead
}

func (d *lateDialer) Dial(addr string, h wire.Hello, page int) (int, error) {
	d.begun <- addr
	<-d.goOn
	if d.other != "" {
		addr, d.other = d.other, ""
	}
	return d.UnixDialer.Dial(addr, h, page)
}

// dialsLate makes a session's task connections wait for the test.
func dialsLate(c *Client) *lateDialer {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := &lateDialer{UnixDialer: c.dialer.(transport.UnixDialer), begun: make(chan string, 10), goOn: make(chan struct{})}
	c.dialer = d
	return d
}

// A worker that takes no connection keeps nobody from hearing the daemon. What the daemon has
// said meanwhile about the lease holds when the connection is there.
func TestConnect_WorkerTakesNoConnectionYet_DaemonIsHeard(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c := d.driver()
	late := dialsLate(c)
	ref := submitText(t, c, template(t, c, "f"), "x")
	<-late.begun
	id := d.lease()
	d.says(c, push(wire.TLeaseRecall, wire.LeaseRef{LeaseID: id}))
	c.mu.Lock()
	if l := c.submit.Leases[id]; l == nil || !l.Recall || l.Channel != nil {
		t.Errorf("the lease, which others wait for, is %+v", l)
	}
	c.mu.Unlock()
	close(late.goOn)
	d.eventually("the lease goes back unused", func() bool { return len(d.returned) > 0 && d.returned[0] == id })
	if got := get(t, c, ref); got != "x" {
		t.Errorf("the task, which gets another lease, returns %q", got)
	}
}

// A worker ends while the socket to it is being opened, and a child that it forked still takes the
// connection and never answers. The task gets another worker.
func TestConnect_WorkerEndsMeanwhile_TaskGetsAnother(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c := d.driver()
	late := dialsLate(c)
	_, other, path := d.stranger()
	late.other = other
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ref := submitText(t, c, template(t, c, "f"), "x")
	<-late.begun
	id := d.lease()
	d.worker(echo)
	d.says(c, push(wire.TLeaseBroken, wire.LeaseBroken{LeaseID: id, Detail: "the worker has ended"}))
	close(late.goOn)
	if got := get(t, c, ref); got != "x" {
		t.Errorf("the task returns %q", got)
	}
}

// A lease whose socket is still being opened is not wanted a second time.
func TestConnect_ManyAreOpenedAtOnce_NoMoreAreWanted(t *testing.T) {
	const n = 3
	d := startDaemon(t)
	gate := make(chan struct{})
	var wants []int
	d.answers(wire.TLeaseWant, func(m *wire.Message) bool {
		var w wire.LeaseWant
		_ = m.Decode(&w)
		wants = append(wants, w.Want)
		return false
	})
	c := d.driver()
	late := dialsLate(c)
	f := template(t, c, "f")
	var list []ids.Object
	for range n {
		d.worker(func(c *Client, it *Item) {
			<-gate
			echo(c, it)
		})
		list = append(list, submitText(t, c, f, "x"))
		<-late.begun
	}
	d.says(c)
	d.mu.Lock()
	before := len(wants)
	if slices.Max(wants) > 1 {
		t.Errorf("while the sockets are being opened, so many leases are wanted at a time: %v, want one for each task", wants)
	}
	d.mu.Unlock()
	for i := range n {
		late.goOn <- struct{}{}
		waitFor(t, "the socket is open", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.submit.Sent == i+1
		})
	}
	d.says(c)
	d.mu.Lock()
	if more := wants[before:]; len(more) != 0 {
		t.Errorf("when all leases have been granted, so many more are wanted: %v", more)
	}
	d.mu.Unlock()
	close(gate)
	for _, ref := range list {
		if got := get(t, c, ref); got != "x" {
			t.Errorf("a task returns %q", got)
		}
	}
}

// The daemon is heard while an actor takes no connection, too.
func TestConnect_ActorTakesNoConnectionYet_DaemonIsHeard(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	c := d.driver()
	late := dialsLate(c)
	ref := callActor(t, c, newActor(t, c, ActorSpec{}), method(t, c, 0), "x")
	<-late.begun
	d.says(c) // returns when the session has answered
	close(late.goOn)
	expectOutcome(t, c, "the call", ref, "x", "")
}

// A connection that nobody needs any more when it is there is closed again.
func TestConnect_NobodyNeedsIt_ConnectionIsClosed(t *testing.T) {
	for what, x := range map[string]struct {
		ends  bool
		lease *submit.Lease
	}{
		"the session has ended":       {true, nil},
		"no handle of the actor":      {false, nil},
		"the lease has been returned": {false, &submit.Lease{Gone: true}},
	} {
		d := startDaemon(t)
		c := d.driver()
		_, addr, path := d.stranger()
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if x.ends {
			c.Close(0)
		}
		o := submit.NewChannel(&c.submit, addr)
		if o.Lease = x.lease; o.Lease == nil {
			c.mu.Lock()
			o.Actor = c.submit.OpenActor(ids.Actor{1}, "A", 0)
			o.Actor.CountHandle(false)
			c.submit.CloseActor(ids.Actor{1})
			c.mu.Unlock()
		}
		(*host)(c).Connect(o, addr, wire.Hello{Version: wire.Version, Role: wire.RoleActor}, -1)
		u, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		if _, err := wire.ReadHello(u.(*net.UnixConn)); err != nil {
			t.Fatal(err)
		}
		if err := u.SetReadDeadline(time.Now().Add(testLimit)); err != nil {
			t.Fatal(err)
		}
		if n, err := u.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: the connection gives %d bytes, %v, want its end", what, n, err)
		}
	}
}
