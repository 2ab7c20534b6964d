package client

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
