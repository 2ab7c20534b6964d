package client

import (
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
)

// A child that user code forks inherits our descriptors. Held open there,
// they would keep a peer from seeing that we have ended; so the embedder is
// told of each, to close them in such a child.

// opened tells the embedding program that a descriptor was opened, and closing that it is about to be closed.
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

// socketOf returns the connection that a channel writes to, which a process hands over when it moves.
func socketOf(o *submit.Channel) *transport.Conn { return o.Pipe.(*transport.Conn) }
