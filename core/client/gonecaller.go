package client

import "github.com/eagleray/eagleray/core/ids"

// What an answer refers to is held until its caller says that it has registered
// the references. A caller that has ended says nothing. Most have a control
// connection to this process, and its end tells. One that ended before it had a
// reason for that is looked for when its task socket breaks: this process opens
// a control connection to the caller, which fails, or ends when the caller does.

// lookForCaller sees to what is held for a caller whose task socket broke; mu held.
func (c *Client) lookForCaller(in *inConn) {
	if c.closed || len(c.held[in.caller]) == 0 || c.served.Has(in.caller) {
		return
	}
	if c.sought == nil {
		c.sought = map[string]ids.Owner{}
	}
	c.sought[in.addr] = in.caller
	c.links.To(in.addr)
}

// callerGone is told of each process that a connection of ours has lost, or
// could not be made to; mu held.
func (c *Client) callerGone(addr string) {
	who, ok := c.sought[addr]
	if !ok {
		return
	}
	delete(c.sought, addr)
	if !c.served.Has(who) {
		c.dropReplies(who)
		c.carryOut()
		c.lessNeeded()
	}
}
