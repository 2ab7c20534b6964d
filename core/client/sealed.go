package client

import (
	"context"

	"github.com/eagleray/eagleray/core/ids"
)

// storeResult is storeValue for a value that an answer will name on another
// socket. The seal has left this process when it returns: if the process is
// killed right after the answer, the daemon must not take the object for one
// that was never written.
func (c *Client) storeResult(id ids.Object, v *Value, total int) error {
	if err := c.storeValue(id, v, total); err != nil {
		return err
	}
	return c.daemon.Flush(context.Background())
}
