package client

import (
	"context"
	"fmt"
	"os"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// What the session tells the daemon and its user.

// warn writes a line for the user of the program.
func (c *Client) warn(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "eagleray: "+format+"\n", a...)
}

// push tells the daemon; a broken connection ends the session elsewhere.
func (c *Client) push(t wire.Type, body any) { _ = c.daemon.Push(t, body) }

// DefineEnv makes an environment known to the daemon, for functions and actors that name its key.
func (c *Client) DefineEnv(e wire.EnvSpec) error {
	var err error
	if len(e.Packages) > 0 { // the daemon packs them, and may refuse them
		err = c.daemon.Call(context.Background(), wire.TEnvDefine, e, nil)
	} else {
		err = c.daemon.Push(wire.TEnvDefine, e)
	}
	if err != nil {
		if why := c.Err(); why != nil {
			return why
		}
		return err
	}
	return nil
}

// EnvKey returns the key of the job's default environment.
func (c *Client) EnvKey() string { return c.opts.Job.Env.Key }
