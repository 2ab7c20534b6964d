package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// Inherit takes over what a worker hands over through u and lives in its place
// until nobody needs it any more. The token names that worker to the daemon.
func Inherit(u *net.UnixConn, socket, token string) error {
	defer u.Close()
	c, err := Connect(Options{Socket: socket, Role: wire.RoleSuccessor, Token: token})
	if err != nil {
		return err // the worker stays as it was
	}
	defer c.Close(0)
	if err := u.SetDeadline(time.Now().Add(movePatience)); err != nil {
		return err
	}
	if _, err := u.Write([]byte{1}); err != nil {
		return fmt.Errorf("tell the worker that there is an heir: %w", err)
	}
	body, files, err := wire.ReceiveParcel(u)
	if err != nil {
		return fmt.Errorf("read what is handed over: %w", err)
	}
	drop := func() {
		for _, f := range files {
			f.Close()
		}
		files = nil
	}
	defer drop()
	w, err := readWill(body)
	if err != nil {
		return fmt.Errorf("read what is handed over: %w", err)
	}
	if n := 1 + len(w.Serving) + len(w.Links) + len(w.Conns); len(files) != n {
		return fmt.Errorf("what is handed over has %d descriptors, not %d", len(files), n)
	}
	var at wire.Inherited
	if err := c.daemon.Call(context.Background(), wire.TInherit, nil, &at); err != nil {
		return err
	}
	if c.listener, err = transport.Takeover(files[0], at.Addr, (*host)(c), c.served); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &heir{c: c, w: w, files: files[1:]}
	if err := h.begin(&at); err != nil {
		return err
	}
	drop()                    // it has descriptors of its own for the same sockets
	_, _ = u.Write([]byte{1}) // a worker that was killed meanwhile has its heir, too
	u.Close()
	c.outlive()
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), exitPatience)
	_ = c.daemon.Flush(ctx) // what it did not hear it learns from our end
	cancel()
	c.mu.Lock()
	return nil
}

// outlive waits until nobody needs what was inherited; mu held.
func (c *Client) outlive() {
	began := time.Now()
	for !c.closed && c.needed(began) {
		w := wait.New()
		c.leaving = w
		if c.unfinished > 0 {
			c.poller.Await(w, time.Now().Add(time.Second))
			continue
		}
		// No task socket is open: nobody has to poll, or to hold a thread for it.
		left := receiptPatience - time.Since(began)
		c.mu.Unlock()
		w.Sleep(left + time.Millisecond) // negative: until something changes
		c.mu.Lock()
	}
	c.leaving = nil
}

// heir is a client that is being made from a will.
type heir struct {
	c     *Client
	w     *will
	files []*os.File
	tasks []*task
}

// next returns the next connection's descriptor as a file of the heir's.
func (h *heir) next() *os.File {
	f := h.files[0]
	h.files = h.files[1:]
	return f
}

// begin makes everything as it was and sets it going; mu held.
func (h *heir) begin(at *wire.Inherited) error {
	c, w := h.c, h.w
	copy(c.info.Worker[:], at.WorkerID)
	c.self, c.info.Addr = c.info.Worker.Owner(), at.Addr
	c.table = c.newTable()
	c.table.SkipTo(w.Next)
	if err := h.objects(); err != nil {
		return err
	}
	for i := range w.Templates {
		if err := c.inheritTemplate(&w.Templates[i]); err != nil {
			return err
		}
	}
	for _, k := range c.classes {
		c.push(wire.TLeaseWant, wire.LeaseWant{ClassID: k.id})
	}
	for i := range w.Tasks {
		x := &w.Tasks[i]
		if x.Template < 0 || x.Template >= len(w.Templates) {
			return fmt.Errorf("a task of template %d, of %d, was handed over", x.Template, len(w.Templates))
		}
		t, err := h.task(x, &w.Templates[x.Template])
		if err != nil {
			return err
		}
		c.count(t)
		h.tasks = append(h.tasks, t)
	}
	if err := errors.Join(h.serving(), h.links(), h.actors(), h.conns(), h.recipes(), h.results()); err != nil {
		return err
	}
	h.joinRuns()
	c.table.Sweep()
	h.wake(at)
	c.carryOut()
	c.listener.Start()
	return nil
}

// wake sets everything going; mu held.
func (h *heir) wake(at *wire.Inherited) {
	c := h.c
	c.served.Start()
	c.links.Start()
	var ask []*refs.Object
	c.table.Each(func(o *refs.Object) bool {
		if !o.Owned() && o.Asked() && !o.State().Ready() {
			ask = append(ask, o)
		}
		return true
	})
	for _, o := range ask {
		c.table.Ask(o, false)
	}
	c.table.CheckCopies()
	for _, a := range c.actors {
		switch {
		case a.creation != nil && a.creation.again:
			c.watchDeath(a)
		case a.creation != nil && !a.creation.announce:
			c.registerWhenReady(a)
		case a.creation != nil:
			c.resolve(a)
		}
		if a.sent != nil {
			c.resolve(a)
		}
		c.pumpActor(a)
	}
	for i, t := range h.tasks {
		if (t.actor == nil || t.aside) && h.w.Tasks[i].Place == taskWaits && t.waiting == 0 {
			c.begin(t)
		}
	}
	h.compare(at.LeaseIDs)
}

// compare brings the leases in line with what the daemon has: some may have
// been granted or broken on the way.
func (h *heir) compare(list []uint64) {
	c := h.c
	has := map[uint64]bool{}
	for _, id := range list {
		has[id] = true
		if c.leases[id] == nil {
			c.push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: id})
		}
	}
	for id := range c.leases {
		if !has[id] {
			go c.brokenLease(&wire.LeaseBroken{LeaseID: id, Detail: "the worker is gone"})
		}
	}
}
