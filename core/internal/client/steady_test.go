package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/submit"
)

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
	var behind []*submit.Lease
	d.eventually("the lease goes back", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		x := c.submit.Classes[0].Leases
		behind = x[:cap(x)]
		return len(c.submit.Leases) == 0
	})
	for _, l := range behind {
		if l != nil {
			t.Errorf("the class still holds lease %d", l.ID)
		}
	}
}
