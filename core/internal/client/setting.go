package client

import (
	"os"
	"strconv"
)

// setting returns a variable of the program's environment, with our prefix or Ray's.
func (c *Client) setting(name string) (string, bool) {
	for _, prefix := range []string{"EAGLERAY_", "RAY_"} {
		v, ok := c.opts.Env[prefix+name]
		if c.opts.Env == nil {
			v, ok = os.LookupEnv(prefix + name)
		}
		if ok && v != "" {
			return v, true
		}
	}
	return "", false
}

// number returns a setting that is a number. A text that is not a number counts as not set.
func (c *Client) number(name string, otherwise int) int {
	if v, ok := c.setting(name); ok {
		if n, err := strconv.ParseInt(v, 10, 32); err == nil {
			return int(n)
		}
	}
	return otherwise
}
