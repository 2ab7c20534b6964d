package client

import (
	"context"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Succeed takes over what a worker hands over through u, and stays in the worker's
// place until nobody needs what it has taken over. The token names the worker to the daemon.
func Succeed(u *net.UnixConn, socket, token string) error {
	defer u.Close()
	c, err := Connect(Options{Socket: socket, Role: wire.RoleSuccessor, Token: token})
	if err != nil {
		return err // the worker stays as it was
	}
	defer c.Close(0)
	if err := handover.Announce(u); err != nil {
		return err
	}
	w, files, err := handover.Receive(u)
	if err != nil {
		return err
	}
	drop := func() {
		for _, f := range files {
			f.Close()
		}
		files = nil
	}
	defer drop()
	var at wire.TakenOver
	if err := c.daemon.Call(context.Background(), wire.TTakeOver, nil, &at); err != nil {
		return err
	}
	if c.listener, err = transport.Takeover(files[0], at.Socket, (*host)(c), c.served); err != nil {
		return err
	}
	s := &successor{c: c, snapshot: w, files: files[1:]}
	err = s.live(&at, func() {
		drop() // the successor has descriptors of its own for the same sockets
		handover.Confirm(u)
		u.Close()
	})
	if err == nil {
		c.flushDaemon()
	}
	return err
}

// live makes everything as it was, says so by begun, and stays until nobody needs what was taken over.
func (s *successor) live(at *wire.TakenOver, begun func()) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if err := s.begin(at); err != nil {
		return err
	}
	begun()
	s.c.outlive()
	return nil
}

// outlive waits until nobody needs what was taken over; mu held.
func (c *Client) outlive() {
	for !c.Closed() && c.needed() {
		w := wait.New()
		c.stays(w)
		if c.submit.Open > 0 {
			c.poller.Await(w, time.Now().Add(time.Second))
			continue
		}
		c.sleep(w) // no task socket is open: nobody has to poll, or to hold a thread for it
	}
	c.stays(nil)
}

// sleep waits without polling until something has changed; mu held, released meanwhile.
func (c *Client) sleep(w *wait.Wait) {
	c.mu.Unlock()
	defer c.mu.Lock()
	w.Sleep(-1)
}
