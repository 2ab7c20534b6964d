package client

import (
	"net"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// While an owner is silent, what may have brought a reference of its waits, and
// everything else goes; when it ends, all goes.
func TestDrops_OwnerIsSilent_OnlyWhatMayHaveBroughtItWaits(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	owner, addr, path := d.stranger()
	silent, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	theirs := ids.NewObject(1, owner, c.Info().Job, 0)
	if err := c.Import(theirs, addr, 0); err != nil {
		t.Fatal(err)
	}
	conn, err := silent.Accept() // it is asked, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	put := func(v Value) ids.Object {
		t.Helper()
		id, err := c.Put(&v)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	leaf := put(Value{Fmt: FmtBytes, Bufs: [][]byte{[]byte("x")}})
	big := put(Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, 2*MaxInline)}})
	outer := put(Value{Fmt: FmtBytes, Bufs: [][]byte{[]byte("y")}, Nested: []ids.Object{theirs}})
	f, err := c.Get(big, -1)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []Drop{{Object: leaf}, {Object: outer}, {Object: theirs}, {View: f.View}, {Object: big}} {
		c.Release(x)
	}
	if owned, borrowed := c.Holds(); owned != 1 || borrowed != 1 {
		t.Errorf("while the owner is silent %d objects are owned and %d borrowed, want the one that contains the reference, and it", owned, borrowed)
	}
	c.mu.Lock()
	views := c.local.Count().Views
	c.mu.Unlock()
	if views != 0 {
		t.Errorf("%d views of stored objects are left", views)
	}
	silent.Close() // an owner that has ended accepts nobody
	conn.Close()
	d.eventually("everything has gone", func() bool {
		owned, borrowed := c.Holds()
		return owned+borrowed == 0
	})
}
