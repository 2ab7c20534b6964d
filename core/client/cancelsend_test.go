package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// startCancellation has a driver send a cancellation to an address at which nobody listens yet.
func startCancellation(t *testing.T, c *Client, wanted func() bool) *cancellation {
	t.Helper()
	dir, err := os.MkdirTemp("", "er") // t.TempDir's names are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	q := wire.Cancel{TaskID: make([]byte, 24)}
	k := &cancellation{c: &c.submitter, addr: filepath.Join(dir, "w"), q: q, what: "task f", wanted: wanted, heard: make(chan error, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	k.send()
	return k
}

// A worker that cannot be reached for a long time hears the cancellation all the same, and the program hears that
// it takes so long.
func TestCancellation_ProcessCannotBeReached_IsSentUntilItArrives(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(func(c *Client, it *Item) {})
	c := d.driver()
	k := startCancellation(t, c, func() bool { return true })
	said := func() string {
		c.notes.mu.Lock()
		defer c.notes.mu.Unlock()
		for _, x := range c.notes.list {
			if strings.Contains(x.Warning, "cancellation") {
				return x.Warning
			}
		}
		return ""
	}
	d.eventually("the program is told", func() bool { return said() != "" })
	for _, word := range []string{"task f", k.addr, "sent again"} {
		if !strings.Contains(said(), word) {
			t.Errorf("%q is not in %q", word, said())
		}
	}
	if err := os.Symlink(w.Info().Addr, k.addr); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-k.heard:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testLimit):
		t.Fatal("it does not arrive")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exec.Counts().Early != 1 {
		t.Errorf("the worker has heard of %d cancellations", w.exec.Counts().Early)
	}
}

func TestCancellation_TaskHasEnded_IsNotSentAgain(t *testing.T) {
	d := startDaemon(t)
	k := startCancellation(t, d.driver(), func() bool { return false })
	select {
	case err := <-k.heard:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testLimit):
		t.Fatal("it is sent though nobody needs it")
	}
}

// Who waits for a cancellation that cannot be delivered goes on when the session ends.
func TestCancellation_SessionEnds_NobodyWaits(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	k := startCancellation(t, c, func() bool { return true })
	waitFor(t, "it will be sent again", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return k.tries >= cancelSays
	})
	c.Close(0)
	select {
	case err := <-k.heard:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testLimit):
		t.Fatal("the cancellation is waited for")
	}
}
