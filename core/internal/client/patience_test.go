package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
)

// What a call took stays as long as its worker says that references are not
// registered; the caller asks again and again. Of a worker that has ended nothing stays.
func TestUnsettled_WorkerIsNotReady_ArgumentsStayUntilItIs(t *testing.T) {
	d := startDaemon(t)
	w, c := d.programless(), d.driver()
	dep, inner, args := putBytes(t, c, 10, 1), putBytes(t, c, 10, 2), putBytes(t, c, 10, 3)
	list := []ids.Object{dep, inner, args}
	_, ended, _ := d.stranger()
	for _, addr := range []string{w.info.Addr, ended} {
		w.mu.Lock()
		w.table.Registering(1)
		w.mu.Unlock()
		c.mu.Lock()
		objs := make([]*refs.Object, len(list))
		for i, id := range list {
			objs[i] = c.table.Find(id)
		}
		c.submit.Unsettled(&submit.Task{}, addr)
		if len(c.table.Retained()) != 0 {
			t.Error("a call that took nothing has something that is not settled")
		}
		c.submit.Unsettled(&submit.Task{Arguments: arguments.Of(nil, objs[2], objs[:1], objs[1:2])}, addr)
		s := c.table.Retained()[0]
		for i, o := range objs {
			if o.Pins() != 1 {
				t.Errorf("argument %d has %d pins", i, o.Pins())
			}
		}
		c.mu.Unlock()
		if addr == w.info.Addr {
			waitFor(t, "the worker was asked three times", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return s.Pause() >= 8*refs.RetainFirst
			})
			c.mu.Lock()
			if len(c.table.Retained()) != 1 || objs[2].Pins() != 1 {
				t.Errorf("%d calls are not settled, the arguments have %d pins", len(c.table.Retained()), objs[2].Pins())
			}
			c.mu.Unlock()
		}
		w.mu.Lock()
		w.table.Registered(1)
		w.mu.Unlock()
		waitFor(t, "nothing is held any more", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.table.Retained()) == 0 && objs[0].Pins()+objs[1].Pins()+objs[2].Pins() == 0
		})
	}
	letGo(t, c, list...)
}
