package client

import (
	"slices"
	"unique"
	"unsafe"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wire"
)

// Programs make functions, options and resource shapes in loops. This process, the
// daemon and the workers keep a template until it is of no use any more: the program
// cannot call it, none of its tasks is without an answer, and no lineage would run
// one of them again.

// Retire says that the program cannot call a template any more.
func (c *Client) Retire(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && id >= 0 && id < len(c.tmpls) && c.tmpls[id] != nil {
		c.retireTemplate(c.tmpls[id])
	}
}

// retireTemplate is told that the program cannot call a template any more.
func (c *submitter) retireTemplate(tm *Template) {
	tm.retired = true
	c.dropTemplate(tm)
}

// dropTemplate removes a template that is retired and not needed.
func (c *submitter) dropTemplate(tm *Template) {
	if !tm.retired || tm.open > 0 || tm.recipes > 0 || tm.id >= len(c.tmpls) || c.tmpls[tm.id] != tm {
		return
	}
	for _, x := range append([]*Template{tm}, tm.Fallback...) {
		for _, l := range c.leases {
			if l.conn != nil {
				l.conn.forget(x)
			}
		}
		if tm.Kind == KindMethod {
			for _, a := range c.actors {
				if a.conn != nil {
					a.conn.forget(x)
				}
			}
		}
		c.tmpls[x.id] = nil
		c.freeIDs = append(c.freeIDs, x.id)
		x.Blob, x.whole = nil, unique.Handle[string]{} // the list of ended tasks may still name it
	}
	c.endings.retire(tm)
	if l := tm.larger; l != nil {
		tm.larger, l.retired = nil, true
		c.dropTemplate(l)
	}
	if k := tm.class; k != nil {
		k.templates--
		c.dropClass(k)
	}
}

// dropClass removes a class that no template and no lease belongs to.
func (c *submitter) dropClass(k *class) {
	if k.templates > 0 || len(k.leases) > 0 || c.classes[k.id] != k {
		return
	}
	delete(c.classes, k.id)
	delete(c.byClass, k.key)
	if s := k.shape; s != nil {
		if s.classes--; s.classes == 0 {
			delete(c.shapes, s.key)
		}
	}
	c.fx.Push(wire.TClassRetire, wire.LeaseWant{ClassID: k.id})
}

// newID gives a template a number that no other template has. When a number is used again,
// every connection has been told to forget the old template before it hears of the new one.
func (c *submitter) newID(t *Template) int {
	if n := len(c.freeIDs); n > 0 {
		id := c.freeIDs[n-1]
		c.freeIDs = c.freeIDs[:n-1]
		c.tmpls[id] = t
		return id
	}
	c.tmpls = append(c.tmpls, t)
	return len(c.tmpls) - 1
}

// intern keeps one copy of each function, for as long as somebody has it.
func (t *Template) intern() {
	if len(t.FID) == 0 || len(t.Blob) == 0 {
		return
	}
	t.whole = unique.Make(string(t.Blob))
	s := t.whole.Value()
	t.Blob = unsafe.Slice(unsafe.StringData(s), len(s)) // nobody writes to it
}

// knows notes that the worker gets a template, and reports whether it lacks the function.
func (o *outConn) knows(t *Template) (lacks bool) {
	o.known[t.id] = true
	fid := string(t.FID)
	if fid == "" {
		return false
	}
	o.blobs[fid]++
	return o.blobs[fid] == 1
}

// forget has the worker forget a template.
func (o *outConn) forget(t *Template) {
	if o.Closed() || !o.known[t.id] {
		return
	}
	delete(o.known, t.id)
	if fid := string(t.FID); fid != "" {
		if o.blobs[fid]--; o.blobs[fid] == 0 {
			delete(o.blobs, fid)
		}
	}
	o.Queue(frame.AppendForget(o.Buffer(), uint64(t.id)))
	o.SendSoon()
}

// maxEnds bounds for how many names the tasks of retired templates are counted.
const maxEnds = 1000

// retire keeps what a template counted; mu held.
func (x *endings) retire(t *Template) {
	if t.finished+t.failed == 0 {
		return
	}
	if x.retired == nil {
		x.retired = map[[2]string]*wire.Ends{}
	}
	ends(x.retired, t, len(x.retired) >= maxEnds)
}

// ends adds what a template counted to the numbers of its name, or, when there are too many, of all other names.
func ends(by map[[2]string]*wire.Ends, t *Template, full bool) {
	key := [2]string{t.Name, kindName(t)}
	y := by[key]
	if y == nil && full {
		key[0] = manyNames
		y = by[key]
	}
	if y == nil {
		y = &wire.Ends{Name: key[0], Method: t.Kind == KindMethod}
		by[key] = y
	}
	y.Finished += t.finished
	y.Failed += t.failed
}

// manyNames stands for names that are too many to be kept.
const manyNames = "(other functions)"

// templates returns those that there are.
func (c *submitter) templates() []*Template {
	return slices.DeleteFunc(slices.Clone(c.tmpls), func(t *Template) bool { return t == nil })
}

// inheritTemplate is addTemplate with the numbers that the template and its class had; mu held.
func (c *submitter) inheritTemplate(t *Template) error {
	if err := c.takeID(t); err != nil {
		return err
	}
	t.maker = c.fx.Maker(t)
	t.intern()
	t.retired = true // the program that called it has ended
	if t.Kind != KindTask {
		return nil
	}
	for _, o := range t.Fallback {
		if err := c.takeID(o); err != nil {
			return err
		}
		o.maker = t.maker
		o.intern()
	}
	key := classKey(t)
	if k := c.byClass[key]; k != nil {
		t.class = k
	} else if c.classes[t.ClassID] != nil {
		return fault.New(fault.BadRequest, "class %d of %s was handed over twice", t.ClassID, t.Name)
	} else {
		t.class = c.defineClass(t.ClassID, key, t)
	}
	t.class.templates++
	return nil
}

// mostIDs bounds the numbers that a will may give.
const mostIDs = 1 << 24

// takeID gives a template the number that it had.
func (c *submitter) takeID(t *Template) error {
	if t.Number < 0 || t.Number > mostIDs || t.Number < len(c.tmpls) && c.tmpls[t.Number] != nil {
		return fault.New(fault.BadRequest, "template %d of %s was handed over twice", t.Number, t.Name)
	}
	for len(c.tmpls) <= t.Number {
		c.tmpls = append(c.tmpls, nil)
	}
	t.id, c.tmpls[t.Number] = t.Number, t
	return nil
}
