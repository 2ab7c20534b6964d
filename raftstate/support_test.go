package raftstate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// TestMain fails the package when a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if left := leaked(patience); left != "" {
			fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked returns the stacks of goroutines of this project or of raft that are
// still there when the time is over.
func leaked(within time.Duration) string {
	for deadline := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		left := ""
		for _, s := range strings.Split(stacks.String(), "\n\n") {
			if (strings.Contains(s, "eagleray") || strings.Contains(s, "hashicorp/raft")) && !strings.Contains(s, "leaked") {
				left += s + "\n\n"
			}
		}
		if left == "" || time.Now().After(deadline) {
			return left
		}
	}
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// openWith opens a member with the options that is alone and is closed with the test.
func openWith(t testing.TB, o Options) *Node {
	t.Helper()
	o.ID = "a"
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// openLone opens an embedded member that is closed with the test, and waits until it leads.
func openLone(t testing.TB) *Node {
	t.Helper()
	n := openWith(t, Options{})
	for at := n.Now(); ; { // its log is quiet only when it has settled as leader
		b, err := n.Watch(testContext(t), at)
		if err != nil {
			t.Fatal(err)
		}
		if b.Leading {
			return n
		}
		at = b.Next
	}
}

func readCloser(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// valueOf returns a value of the internal key-value pairs.
func valueOf(t testing.TB, n *Node, namespace, key string) ([]byte, bool) {
	t.Helper()
	v, ok, err := n.GetKV(testContext(t), namespace, key)
	if err != nil {
		t.Fatal(err)
	}
	return v, ok
}
