package client

import (
	"os"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A worker whose daemon goes away ends its process, once and with an error; one
// that has left before does not, and neither does a driver.
func TestDaemonGone_OnlyAWorkerThatIsInTheSession_Ends(t *testing.T) {
	for _, x := range []struct {
		role   string
		leaves bool
		ends   bool
	}{{wire.RoleWorker, false, true}, {wire.RoleWorker, true, false}, {wire.RoleDriver, false, false}} {
		d := startDaemon(t)
		codes := make(chan int, 10)
		c, err := Connect(Options{Socket: d.sock(), Role: x.role, Token: "t", Exit: func(code int) { codes <- code }})
		if err != nil {
			t.Fatal(err)
		}
		if x.leaves {
			c.Close(0)
		}
		c.daemonGone(os.ErrClosed)
		c.daemonGone(os.ErrClosed)
		if err := c.Err(); x.leaves && fault.CodeOf(err) != fault.Closed || !x.leaves && fault.CodeOf(err) != fault.DaemonDied {
			t.Errorf("%+v: the session ended with %v", x, err)
		}
		switch {
		case x.ends && len(codes) != 1:
			t.Errorf("%+v: it ended %d times", x, len(codes))
		case x.ends:
			if code := <-codes; code != 1 {
				t.Errorf("it ended with code %d", code)
			}
		case len(codes) != 0:
			t.Errorf("%+v: it ended", x)
		}
		c.Close(0)
	}
}

// What objects keep is released when the session ends, and who waits hears why.
func TestClose_KeptThingsAndWaits_End(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	put, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{}, 2)
	if err := c.Keep(put, func() { released <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	list, objs := inStates(c, "p")
	got := make(chan string)
	go func() {
		f, err := c.Get(list[0], -1)
		if err != nil {
			got <- err.Error()
			return
		}
		got <- string(f.Envelope)
	}()
	waitFor(t, "it waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(objs[0].Waits()) > 0
	})
	c.Close(0)
	if said := <-got; !strings.Contains(said, c.Err().Error()) {
		t.Errorf("who waits hears %q", said)
	}
	<-released
	if err := c.Keep(put, func() {}); fault.CodeOf(err) != fault.Closed {
		t.Errorf("a closed session keeps something: %v", err)
	}
}

// A driver whose job is refused is told why, and is in the session no more.
func TestConnect_JobIsRefused_LeavesNothing(t *testing.T) {
	d := startDaemon(t)
	d.answers(wire.TJobStart, func(m *wire.Message) bool {
		_ = m.Fail(fault.New(fault.BadRequest, "no more jobs"))
		return true
	})
	open, closed := 0, 0
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Descriptor: func(_ int, is bool) {
		if is {
			open++
		} else {
			closed++
		}
	}})
	if c != nil || err == nil || !strings.Contains(err.Error(), "register the job") || !strings.Contains(err.Error(), "no more jobs") {
		t.Fatalf("%v, %v", c, err)
	}
	if open == 0 || open != closed {
		t.Errorf("%d descriptors were opened, %d closed", open, closed)
	}
}
