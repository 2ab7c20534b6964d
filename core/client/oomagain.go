package client

import "time"

// again puts a task back into its queue after a while; mu held.
func (c *Client) again(t *task, delay time.Duration) {
	time.AfterFunc(delay, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed || t.canceled {
			return
		}
		c.enqueue(t)
	})
}
