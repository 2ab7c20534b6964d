package client

import (
	"github.com/eagleray/eagleray/core/internal/trace"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// startTrace opens the ring of this process when its program asked for one.
func (c *Client) startTrace() error {
	folder, ok := c.setting(trace.Variable)
	if !ok || c.opts.Role == wire.RoleSuccessor {
		return nil
	}
	return trace.Open(folder, c.opts.Role, c.self)
}
