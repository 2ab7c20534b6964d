package client

import (
	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// Where it is found out that an object is lost.

// maxMisses is how often one wait, or one task, may find an object lost that
// its owner says is there; the next time it fails.
const maxMisses = 10

// arguments fetches what a call takes, and returns what of it is lost: 0 for its
// arguments, i for its i-th reference. Of a constructor, and of what comes back
// in another way or not at all, it is waited for here; mu held, released while asking.
func (c *Client) arguments(k *execute.Call, it *Item) (lost []int, err error) {
	fetch := func(i int, p frame.Place) Found {
		if err != nil {
			return Found{}
		}
		if c.toCome(k, p) {
			lost = append(lost, i)
			return Found{}
		}
		f, e1 := c.openArgument(k, p)
		if isLost(e1) && p.Size > 0 {
			if k.Leased() || k.Actor == nil && c.mayDefer(k, p) {
				lost = append(lost, i)
				return Found{}
			}
			f, e1 = c.openAgain(k, p)
		}
		err = e1
		return f
	}
	it.Args = fetch(0, k.Args)
	for i, p := range k.Deps {
		it.Deps = append(it.Deps, fetch(i+1, p))
	}
	if err != nil || lost != nil {
		c.closeItem(it)
	}
	return lost, err
}

// closeItem lets go of arguments that were fetched for nothing.
func (c *Client) closeItem(it *Item) {
	for _, f := range append(it.Deps, it.Args) {
		c.local.Drop(f.View)
	}
	it.Args, it.Deps = Found{}, nil
}

// openAgain waits until the owner of a lost argument has computed it again; mu held, released meanwhile.
func (c *Client) openAgain(k *execute.Call, p frame.Place) (Found, error) {
	c.wanted(k, p)
	return c.getHere(p.ID)
}

// getHere waits for an object as the program does; mu held, released meanwhile.
func (c *Client) getHere(id ids.Object) (Found, error) {
	c.mu.Unlock()
	f, err := c.Get(id, -1)
	c.mu.Lock()
	if err != nil {
		return Found{}, err
	}
	return *f, nil
}

// wanted has a call's lost argument computed again; mu held.
func (c *Client) wanted(k *execute.Call, p frame.Place) *refs.Object {
	o := c.borrow(p.ID, p.Owner)
	c.table.Pin(o)
	k.Hold(o)
	switch {
	case o.Owned():
		c.verifyCopy(o)
	case o.State() == refs.Stored:
		c.missed(o)
	case o.State() == refs.Pending && !o.Asked():
		c.table.Ask(o, true)
	}
	return o
}

// lostArguments: a worker gives a task back.
func (o *outConn) lostArguments(r *wire.Reader) error {
	seq, lost, err := frame.ReadLost(r)
	if err != nil {
		return err
	}
	c, t := o.c, o.sent.take(seq)
	if t == nil {
		return nil
	}
	c.inflight--
	t.on = nil
	if l := o.lease; l != nil {
		l.busy--
		l.paused = false
	}
	switch v := c.retry(t, argumentLost); v.refusal {
	case cancelled:
		c.failTask(t, cancelFault(t))
		return nil
	case lostTooOften:
		c.failTask(t, fault.New(fault.ObjectLost, "an argument of %s was lost again and again", t.tmpl.Name))
		return nil
	}
	for _, i := range lost {
		switch {
		case i == 0 && t.argsRef != nil:
			c.table.Missed(t.argsRef)
			c.waitFor(t, t.argsRef)
		case i > 0 && i <= len(t.deps):
			c.table.Missed(t.deps[i-1])
			c.waitFor(t, t.deps[i-1])
		}
	}
	c.begin(t)
	return nil
}

// appendHad encodes which results of a task that runs again are there, or wanted no more; mu held.
func (c *submitter) appendHad(b []byte, t *task) []byte {
	var had []int
	for i := range int(t.returns) {
		if o := c.table.FindOwned(t.first + uint64(i)); o == nil || o.State().Ready() || !t.makes(o) {
			had = append(had, i)
		}
	}
	return frame.AppendHad(b, had)
}
