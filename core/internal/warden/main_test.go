package warden

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the warden and its children: the variable says which. All of them write
// what happens to them to the standard output, which the test reads.
const roleVar = "WARDEN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "warden":
		os.Exit(playWarden())
	case "child":
		playChild(os.Args[1], os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// plan is what a played warden runs.
type plan struct {
	Children   []part
	ReadyLimit time.Duration
	Grace      time.Duration
	Pid1       bool // it makes itself at home in namespaces of its own
	Before     bool // it has a child that is none of Run's
}

// part is a child: what it does in each of its runs; the last one counts for all later ones.
type part struct {
	Name    string
	Restart bool
	Runs    [][]string
}

// tell writes a line in one piece.
func tell(format string, a ...any) { fmt.Fprintf(os.Stdout, format+"\n", a...) }

func playWarden() int {
	var p plan
	if err := json.Unmarshal([]byte(os.Getenv("WARDEN_TEST_PLAN")), &p); err != nil {
		panic(err)
	}
	os.Unsetenv(roleVar) // the children have another role
	if p.Pid1 {
		if err := ownProc(); err != nil {
			tell("no namespace: %v", err)
			return 0
		}
	}
	if p.Before {
		begin("before", "tell lives", "hold")
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM)
	var children []Child
	for _, c := range p.Children {
		run := 0
		children = append(children, Child{Name: c.Name, Restart: c.Restart, Command: func(said map[string]string) Command {
			steps := c.Runs[min(run, len(c.Runs)-1)]
			run++
			if steps[0] == "nothing" {
				return Command{}
			}
			return Command{
				Argv: append([]string{self(), c.Name}, steps...), Input: []byte("input of " + c.Name), Output: os.Stdout,
				Env: append(os.Environ(), roleVar+"=child", fmt.Sprintf("SAID=%v", said)),
			}
		}})
	}
	err := Run(children, Options{
		Signals: signals, ReadyLimit: p.ReadyLimit, Grace: p.Grace, Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
		Ready: func(said map[string]string) { tell("warden %d ready %v", os.Getpid(), said) },
		Ended: func(name string, status int, _ string) { tell("ended %s %d", name, status) },
	})
	left := 0
	for _, c := range offspring() {
		if c.State != 'Z' {
			left++
		}
	}
	tell("run returned %v, %d left", err, left)
	var f *Failure
	if errors.As(err, &f) {
		tell("failure of %s, ready %v", f.Child, f.Ready)
	}
	return 0
}

// ownProc mounts a /proc for the process namespace that this process is the first of.
func ownProc() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// begin starts a process of its own, in a process session of its own.
func begin(name string, steps ...string) *exec.Cmd {
	c := exec.Command(self(), append([]string{name}, steps...)...)
	c.Env = append(c.Environ(), roleVar+"=child")
	c.Stdout = os.Stdout
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		panic(err)
	}
	return c
}

// playChild does its steps. A step is a word, or a word and a text.
func playChild(name string, steps []string) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, unix.SIGTERM)
	for _, step := range steps {
		word, text, _ := strings.Cut(step, " ")
		switch word {
		case "say": // on ReadyFD
			os.NewFile(ReadyFD, "ready").WriteString(text + "\n")
		case "tell":
			tell("%s %d %s", name, os.Getpid(), os.ExpandEnv(text))
		case "input":
			var b [100]byte
			n, _ := os.Stdin.Read(b[:])
			tell("%s reads %s", name, b[:n])
		case "deaf":
			signal.Ignore(unix.SIGTERM)
		case "orphan": // a grandchild whose parent has ended, in a process session of its own
			middle := begin("middle", "leave "+text)
			_ = middle.Wait()
		case "leave":
			begin(text, "tell lives", "hold")
		case "brief": // an orphan that ends at once; waits until somebody has collected it
			middle := begin("middle", "zombie")
			_ = middle.Wait()
			waitCollected()
			tell("%s: the orphan was collected", name)
		case "zombie":
			pid := begin("orphan", "exit 0").Process.Pid
			if err := os.WriteFile(os.Getenv("WARDEN_TEST_DIR")+"/orphan", []byte(strconv.Itoa(pid)), 0o600); err != nil {
				panic(err)
			}
		case "wait": // until it is asked to end
			<-terminated
			tell("%s terminated", name)
		case "hold":
			signal.Ignore(unix.SIGTERM)
			select {}
		case "exit":
			n, _ := strconv.Atoi(text)
			os.Exit(n)
		case "die":
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		default:
			panic(step)
		}
	}
}

// waitCollected waits until the process that the step zombie has left is no more, not even a zombie.
func waitCollected() {
	b, err := os.ReadFile(os.Getenv("WARDEN_TEST_DIR") + "/orphan")
	if err != nil {
		panic(err)
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		panic(err)
	}
	for unix.Kill(pid, 0) == nil {
		time.Sleep(time.Millisecond)
	}
}
