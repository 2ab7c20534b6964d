package notice

import (
	"bufio"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What waits for a standard error that nobody reads is bounded.
func TestStderr_NobodyReads_IsBounded(t *testing.T) {
	s := Stderr{runs: true} // its goroutine writes
	for range maxLines + 5 {
		s.Add("x")
	}
	if len(s.list) != maxLines {
		t.Errorf("%d lines wait, want %d", len(s.list), maxLines)
	}
}

// A worker says what nobody fetched on its standard error, in order, each text once.
func TestStderr_TextsThatWait_AreWrittenInOrder(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Dup3(int(w.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer unix.Close(before)
	restored := false
	restore := func() {
		if !restored {
			restored = true
			_ = unix.Dup3(before, 2, 0)
		}
	}
	defer restore()
	var s Stderr
	lines := bufio.NewScanner(r)
	idle := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.runs && len(s.list) == 0
	}
	for _, part := range [][]string{{"first", "second", "third"}, {"after a while"}} {
		for _, text := range part {
			s.Add(text + "\n")
		}
		for _, want := range part {
			if !lines.Scan() || lines.Text() != want {
				restore()
				t.Fatalf("the worker says %q, want %q", lines.Text(), want)
			}
		}
		for limit := time.Now().Add(time.Minute); !idle(); time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatal("something waits to be written, and its goroutine does not end")
			}
		}
	}
	restore() // closes the pipe's last writing end
	if lines.Scan() {
		t.Errorf("the worker says %q as well", lines.Text())
	}
}
