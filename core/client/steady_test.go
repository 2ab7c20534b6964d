package client

import "testing"

// A class stays for as long as its process, and a program may have thousands: a connection, with its buffers, must
// not stay with each.
func TestClass_LeaseReturned_HoldsNothingOfIt(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c := d.driver()
	id, _, err := c.Submit(&Call{Template: template(t, c, "f"), Args: Value{Fmt: FmtPickle, Meta: []byte("z")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(id, testLimit); err != nil {
		t.Fatal(err)
	}
	var behind []*lease
	d.eventually("the lease goes back", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		x := c.classes[0].leases
		behind = x[:cap(x)]
		return len(c.leases) == 0 && len(behind) > 0
	})
	for _, l := range behind {
		if l != nil {
			t.Errorf("the class still holds lease %d", l.id)
		}
	}
}
