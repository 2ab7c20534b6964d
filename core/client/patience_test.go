package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// An answer waits a moment for references that are not registered yet. When an owner
// is late, the answers after that do not wait for it.
func TestRegistered_OwnerAnswersInTimeOrNot_IsKnown(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	if !c.registered() {
		t.Error("with nothing to register something is not")
	}
	c.table.Registering(1)
	if c.registered() || !c.table.OwnerLate() {
		t.Errorf("an owner that does not answer: late is %v", c.table.OwnerLate())
	}
	if n := c.table.AwaitingRegistered(); n != 0 {
		t.Errorf("%d waits are left", n)
	}
	c.mu.Unlock()
	// The owner answers while the answer waits. A slow machine may need several attempts.
	in := false
	for end := time.Now().Add(testLimit); !in && time.Now().Before(end); {
		c.mu.Lock()
		c.table.Registered(c.table.Unregistered()) // of the attempt before
		c.table.Registering(1)
		c.mu.Unlock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for stop := time.Now().Add(10 * ackPatience); time.Now().Before(stop); time.Sleep(time.Millisecond / 10) {
				c.mu.Lock()
				if c.table.AwaitingRegistered() > 0 {
					c.table.Registered(1)
					c.mu.Unlock()
					return
				}
				c.mu.Unlock()
			}
		}()
		c.mu.Lock()
		in = c.registered() && !c.table.OwnerLate()
		c.mu.Unlock()
		<-done
	}
	if !in {
		t.Error("an answer does not wait for an owner that answers in time")
	}
	c.mu.Lock()
	c.table.Registered(c.table.Unregistered())
	c.mu.Unlock()
}

// What a call took stays as long as its worker says that references are not
// registered; the caller asks again and again. Of a worker that has ended nothing stays.
func TestUnsettled_WorkerIsNotReady_ArgumentsStayUntilItIs(t *testing.T) {
	d := startDaemon(t)
	w, c := d.programless(), d.driver()
	dep, inner, args := putBytes(t, c, 10, 1), putBytes(t, c, 10, 2), putBytes(t, c, 10, 3)
	list := []ids.Object{dep, inner, args}
	for _, addr := range []string{w.info.Addr, d.dir + "/ended.sock"} {
		w.mu.Lock()
		w.table.Registering(1)
		w.mu.Unlock()
		c.mu.Lock()
		objs := make([]*refs.Object, len(list))
		for i, id := range list {
			objs[i] = c.table.Find(id)
		}
		c.unsettled(&task{}, addr)
		if len(c.table.Retained()) != 0 {
			t.Error("a call that took nothing has something that is not settled")
		}
		c.unsettled(&task{deps: objs[:1], nested: objs[1:2], argsRef: objs[2]}, addr)
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
