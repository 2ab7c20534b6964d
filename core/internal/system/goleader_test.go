package system

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// candidate is a copy of examples/leader.
type candidate struct {
	cmd   *exec.Cmd
	lines chan string
}

// campaigns starts a copy.
func campaigns(t *testing.T, binary, name, ttl string) *candidate {
	t.Helper()
	c := &candidate{cmd: exec.Command(binary, "-name", name, "-ttl", ttl), lines: make(chan string, 100)}
	read, write := io.Pipe()
	c.cmd.Stdout, c.cmd.Stderr = write, write
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait()
		write.Close()
	}()
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(read); in.Scan(); {
			c.lines <- in.Text()
		}
	}()
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c
}

// says waits until the copy says something that begins so, and returns the rest.
func (c *candidate) says(t *testing.T, begin string) string {
	t.Helper()
	limit := time.After(time.Minute)
	var all []string
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				t.Fatalf("it has ended and never said %q, but %q", begin, all)
			}
			if rest, found := strings.CutPrefix(line, begin); found {
				return rest
			}
			all = append(all, line)
		case <-limit:
			t.Fatalf("it never said %q, but %q", begin, all)
		}
	}
}

// build returns the example.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "leader")
	if out, err := exec.Command("go", "build", "-o", binary, root+"/examples/leader").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// A leader that is stopped loses its key, because the program itself keeps the lease, and not its daemon. When the leader goes on, it is told.
func TestGoExample_LeaderIsStopped_IsToldOfItsLoss(t *testing.T) {
	cluster(t)
	binary := build(t)
	one := campaigns(t, binary, "one", "2s")
	one.says(t, "one leads with token ")
	two := campaigns(t, binary, "two", "1h")
	two.says(t, "one leads now")
	if err := one.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	two.says(t, "two leads with token ")
	if err := one.cmd.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if why := one.says(t, "not the leader any more: "); !strings.Contains(why, "the lease is lost") {
		t.Errorf("it is told %q", why)
	}
	one.says(t, "two leads now")
}

// Of several copies of the example one leads. When it is killed, or ends by itself, the next one leads at once: long before the lease's time has
// passed. The tokens grow.
func TestGoExample_LeaderDies_AnotherLeads(t *testing.T) {
	cluster(t)
	binary := build(t)
	token := func(text string) (n uint64) {
		t.Helper()
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("the token %q: %v", text, err)
		}
		return n
	}
	one := campaigns(t, binary, "one", "1h")
	first := token(one.says(t, "one leads with token "))
	two := campaigns(t, binary, "two", "1h")
	two.says(t, "one leads now")
	if err := one.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	second := token(two.says(t, "two leads with token "))
	three := campaigns(t, binary, "three", "1h")
	three.says(t, "two leads now")
	if err := two.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	third := token(three.says(t, "three leads with token "))
	if first >= second || second >= third {
		t.Errorf("the tokens are %d, %d and %d", first, second, third)
	}
}
