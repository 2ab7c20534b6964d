package workers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/await"
)

// What is said of a worker's end is of this worker: how its process ended, what it
// announced or wrote, or that it held too much memory.
func TestWorker_End_SaysHowThisWorkerEnded(t *testing.T) {
	const said = "\nIt last wrote to standard error:\n  boom"
	for name, c := range map[string]struct {
		w        Worker
		has, not []string
		code     fault.Code
		bytes    uint64
	}{
		"it crashed":              {Worker{pid: 7, status: Ending{Status: 3, Known: true}}, []string{"pid 7 ended with exit code 3", "boom"}, []string{"on purpose"}, "", 0},
		"it exited with 0":        {Worker{pid: 7, status: Ending{Known: true}}, []string{"pid 7 ended with exit code 0"}, []string{"boom"}, "", 0},
		"it said that it exits":   {Worker{pid: 7, status: Ending{Status: 3, Known: true}, reason: "exit_actor"}, []string{"code 3 on purpose: exit_actor"}, []string{"boom"}, "", 0},
		"a stranger killed it":    {Worker{pid: 7, status: Ending{Status: -int(unix.SIGKILL), Known: true}}, []string{"SIGKILL", "nobody in this session", "boom"}, nil, "", 0},
		"the table killed it":     {Worker{pid: 7, status: Ending{Status: -int(unix.SIGKILL), Known: true}, killed: true}, []string{"SIGKILL", "boom"}, []string{"nobody in this session"}, "", 0},
		"its connection closed":   {Worker{pid: 7, status: Ending{Status: -int(unix.SIGKILL), Known: true}, killed: true, killedDisconnected: true}, []string{"(SIGKILL), after its connection had closed", "kernel", "boom"}, []string{"nobody in this session"}, "", 0},
		"it closed and exited":    {Worker{pid: 7, status: Ending{Status: 3, Known: true}, killedDisconnected: true}, []string{"code 3"}, []string{"kernel"}, "", 0},
		"its status is unknown":   {Worker{pid: 7}, []string{"is not known"}, []string{"boom", "nobody"}, "", 0},
		"it held too much":        {Worker{pid: 7, status: Ending{Status: -int(unix.SIGKILL), Known: true}, excess: Excess{Text: "it held 9 bytes", Code: fault.OutOfMemory, Bytes: 9}}, []string{"it held 9 bytes"}, []string{"boom", "SIGKILL"}, fault.OutOfMemory, 9},
		"it held too much of GPU": {Worker{pid: 7, excess: Excess{Text: "it held a GPU", Code: fault.GPUMemoryExceeded}, reason: "exit"}, []string{"it held a GPU"}, []string{"on purpose"}, fault.GPUMemoryExceeded, 0},
	} {
		end := c.w.end(said)
		if end.Code != c.code || end.Bytes != c.bytes {
			t.Errorf("%s: code %q, %d bytes", name, end.Code, end.Bytes)
		}
		for _, words := range c.has {
			if !strings.Contains(end.Detail, words) {
				t.Errorf("%s: %q lacks %q", name, end.Detail, words)
			}
		}
		for _, words := range c.not {
			if strings.Contains(end.Detail, words) {
				t.Errorf("%s: %q has %q", name, end.Detail, words)
			}
		}
	}
}

// A worker that ends before it is ready says something about its environment, unless it
// was killed from outside: then another one is started, but not for ever.
func TestTable_EndsBeforeItIsReady_EnvironmentIsAtFaultUnlessItWasKilled(t *testing.T) {
	tb, j := openTable(t)
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for i := range maxStartKills + 1 {
		w, _, h := begun(tb, j, i, Ending{Status: -int(unix.SIGKILL), Known: true})
		tb.finish(w, "")
		if faulty := h.ends[0].StartFailure != ""; faulty != (i == maxStartKills) {
			t.Errorf("start %d was killed: its environment is at fault: %v", i, faulty)
		}
	}
	w, _, h := begun(tb, j, 100, Ending{Status: 3, Known: true})
	tb.finish(w, "")
	if want := "could not be started: worker pid 1073741924 ended with exit code 3 before it was ready"; !strings.Contains(h.ends[0].StartFailure, want) {
		t.Errorf("%q does not say %q", h.ends[0].StartFailure, want)
	}
	w, _, h = begun(tb, j, 101, Ending{Status: 3, Known: true})
	w.dismissed = true
	tb.finish(w, "")
	tb.finish(w, "") // its end is told once
	if len(h.ends) != 1 || h.ends[0].StartFailure != "" {
		t.Errorf("a worker that was ended while it started: %+v", h.ends)
	}
	tb.startKills = maxStartKills
	w, _, _ = begun(tb, j, 102, Ending{})
	tb.SetReady(w)
	if tb.SetReady(w) || w.State() != Ready || tb.startKills != 0 {
		t.Error("a worker that is ready is so twice, or leaves the count of killed ones as it was")
	}
	tb.remove(w)
}

// begun returns a worker whose process, which is not there, has ended before it was ready; mu held.
func begun(tb *Table, j *Job, number int, e Ending) (*Worker, *envZygote, *heard) {
	h := &heard{gone: make(chan struct{}, 4), outside: make(chan struct{}, 4)}
	w := tb.Add(uint64(number), j, "env", h)
	w.pid = 1<<30 + number
	w.status = e
	return w, nil, h
}

// A worker that is ready and is killed by a signal of somebody else is reported as
// such before its end is told. One that the table has killed is not.
func TestTable_ProcessGone_KilledFromOutsideIsToldFirst(t *testing.T) {
	for _, ours := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed by the table: %v", ours), func(t *testing.T) {
			tb, j := openTable(t)
			w, _, h := ordered(tb, j)
			tb.mu.Lock()
			sleeps(t, tb, w)
			tb.SetReady(w)
			if ours {
				tb.Kill(w)
			} else if err := unix.Kill(w.pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			tb.mu.Unlock()
			w.peer.Close()
			select {
			case <-h.gone:
			case <-time.After(testLimit):
				t.Fatal("the end of the worker is not told")
			}
			if n := len(h.outside); (n == 1) == ours {
				t.Errorf("%d kills from outside were reported", n)
			}
			tb.mu.Lock()
			defer tb.mu.Unlock()
			if len(h.ends) != 1 || strings.Contains(h.ends[0].Detail, "nobody in this session") == ours || tb.ByPid(w.pid) != nil || len(tb.workers) != 0 {
				t.Errorf("the end is %+v; %d workers are left", h.ends, len(tb.workers))
			}
		})
	}
}

// What a worker sent before its end is read before the end is told, however long the daemon takes to read it. A process
// that keeps the socket open holds the end up for a moment only.
func TestTable_ProcessGone_WhatItSentIsReadFirst(t *testing.T) {
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("another process keeps the socket: %v", kept), func(t *testing.T) {
			tb, j := openTable(t)
			w, _, h := ordered(tb, j)
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			here, there := connOf(t, fds[0]), connOf(t, fds[1])
			reads, goOn := make(chan struct{}), make(chan struct{})
			peer := wire.NewPeer(here, func(*wire.Message) {
				close(reads)
				<-goOn
			}, func(error) {})
			peer.Start()
			t.Cleanup(peer.Close)
			frame, err := wire.AppendMessage(nil, wire.Push, wire.TObjSeal, 0, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := there.Write(frame); err != nil {
				t.Fatal(err)
			}
			<-reads
			if !kept {
				there.Close()
			}
			tb.mu.Lock()
			sleeps(t, tb, w)
			w.peer = peer
			tb.SetReady(w)
			err = unix.Kill(w.pid, unix.SIGKILL)
			tb.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			early := false
			select {
			case <-h.gone:
				early = true
			case <-time.After(3 * statusWait):
			}
			if early != kept {
				t.Errorf("the end is told before the message is read: %v", early)
			}
			close(goOn)
			if !early {
				select {
				case <-h.gone:
				case <-time.After(testLimit):
					t.Fatal("the end of the worker is not told")
				}
			}
		})
	}
}

// A zygote that has waited for a worker tells of its exit status later than usual, because the machine is busy.
func TestTable_ProcessGone_ZygoteTellsLate_StatusIsKnown(t *testing.T) {
	tb, w, p, h := waitedFor(t)
	go tb.processGone(w, p)
	select {
	case <-h.gone:
		t.Error("the end is told before the zygote has said how the process ended")
	case <-time.After(3 * statusWait):
	}
	tb.reaped(w.pid, 3)
	select {
	case <-h.gone:
	case <-time.After(testLimit):
		t.Fatal("the end of the worker is not told")
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if len(h.ends) != 1 || !strings.Contains(h.ends[0].Detail, "ended with exit code 3") {
		t.Errorf("the end is %+v", h.ends)
	}
}

// A zygote that has waited for a worker, and was ended before it told of the exit status, will not tell: the worker's devices
// must not wait for that.
func TestTable_ProcessGone_ZygoteIsOver_EndIsToldAtOnce(t *testing.T) {
	tb, w, p, h := waitedFor(t)
	close(w.zygote.over)
	began := time.Now()
	go tb.processGone(w, p)
	select {
	case <-h.gone:
	case <-time.After(testLimit):
		t.Fatal("the end of the worker is not told")
	}
	if took := time.Since(began); took >= toldWait {
		t.Errorf("the end of the worker was told after %v", took)
	}
}

// waitedFor returns a worker whose process has ended, and for which its zygote has waited before anybody looked at its end.
func waitedFor(t *testing.T) (*Table, *Worker, *Process, *heard) {
	t.Helper()
	tb, j := openTable(t)
	w, _, h := ordered(tb, j)
	tb.mu.Lock()
	pid, parent := childOfAnother(t)
	p, err := Watch(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.pid, w.process = pid, p
	tb.pids[pid] = w
	tb.SetReady(w)
	tb.mu.Unlock()
	_ = unix.Kill(pid, unix.SIGKILL)
	await.Gone(t, p.Gone, "the process of the worker", parent.Kill)
	p.End = Ending{}
	return tb, w, p, h
}

// childOfAnother starts a process whose parent is not this one: a shell, which waits for it.
func childOfAnother(t *testing.T) (pid int, parent *os.Process) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		_ = cmd.Wait()
	})
	return pid, cmd.Process
}

// connOf returns the connection that a descriptor is.
func connOf(t *testing.T, fd int) net.Conn {
	t.Helper()
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
