package pipes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// hasPage has a node give a page that is a file with these bytes, with slot 7, and count how often it is asked.
// The first attempts fail.
func (n *node) hasPage(t *testing.T, guest ids.Owner, failures int) (asked func() int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(path, []byte("the page"), 0o600); err != nil {
		t.Fatal(err)
	}
	count := 0
	n.mu.Lock()
	defer n.mu.Unlock()
	n.page = func(o ids.Owner, lease uint64) (int, int, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if count++; o != guest || lease != 5 {
			t.Errorf("the page of lease %d of %s is asked for", lease, o)
		}
		if count <= failures {
			return 0, -1, errors.New("there is no descriptor left")
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
		}
		return 7, fd, nil
	}
	return func() int {
		n.mu.Lock()
		defer n.mu.Unlock()
		return count
	}
}

// The worker of a lease gets the page that its daemon keeps for the caller, whatever slot the caller names. Others get none.
func TestFar_HelloOfALease_PageGoesAlong(t *testing.T) {
	w := newWorld(t, 0)
	from := w.a.process()
	asked := w.b.hasPage(t, from, 0)
	to, l := w.b.listens()
	for _, role := range []string{wire.RoleLease, wire.RoleActor, wire.RoleControl} {
		before := openFiles(t)
		caller := w.a.calls(from, to, role)
		u, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		h, page, err := wire.ReadHelloFD(u)
		if err != nil {
			t.Fatal(err)
		}
		if role != wire.RoleLease {
			if h.Slot != 0 || page >= 0 {
				t.Errorf("with the hello of %s comes slot %d and descriptor %d", role, h.Slot, page)
			}
		} else {
			b := make([]byte, 99)
			if n, err := unix.Read(page, b); err != nil || string(b[:n]) != "the page" || h.Slot != 7 || h.LeaseID != 5 {
				t.Errorf("%+v comes with %q, %v", h, b[:max(n, 0)], err)
			}
			unix.Close(page)
		}
		caller.Close()
		u.Close()
		w.over()
		w.forgetStreams()
		eventually(t, "the daemon has closed the page", func() bool { return openFiles(t) <= before })
	}
	if n := asked(); n != 1 {
		t.Errorf("a page is asked for %d times", n)
	}
}

// A worker that got no page would seem to have begun nothing. So the pipe waits until the page can be sent, or the worker has ended.
func TestFar_PageCannotBeSent_WaitsWhileTheTargetLives(t *testing.T) {
	w := newWorld(t, 0)
	from := w.a.process()
	asked := w.b.hasPage(t, from, 5)
	to, l := w.b.listens()
	caller := w.a.calls(from, to, wire.RoleLease)
	target, h := accept(t, l)
	if n := asked(); n != 6 || h.Slot != 7 {
		t.Errorf("after %d attempts slot %d comes", n, h.Slot)
	}
	say(t, caller, "question")
	hear(t, target, "question")
	asked = w.b.hasPage(t, from, 1<<30)
	never := w.a.calls(from, to, wire.RoleLease)
	eventually(t, "it is tried again", func() bool { return asked() >= 5 })
	w.b.dies(to)
	ends(t, never, "")
}
