package client

import "syscall"

// A child that user code forks inherits our descriptors. Held open there,
// they would keep a peer from seeing that we have ended; so the embedder is
// told of each, to close them in such a child.

// opened tells the embedder of a descriptor; closing, that it is about to go.
func (c *Client) opened(fd int) {
	if c.opts.Descriptor != nil && fd >= 0 {
		c.opts.Descriptor(fd, true)
	}
}

func (c *Client) closing(fd int) {
	if c.opts.Descriptor != nil && fd >= 0 {
		c.opts.Descriptor(fd, false)
	}
}

// descriptorOf returns the descriptor under a connection or listener, -1 when it is closed.
func descriptorOf(x any) int {
	s, ok := x.(syscall.Conn)
	if !ok {
		return -1
	}
	rc, err := s.SyscallConn()
	if err != nil {
		return -1
	}
	out := -1
	if rc.Control(func(fd uintptr) { out = int(fd) }) != nil {
		return -1
	}
	return out
}
