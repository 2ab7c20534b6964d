package gozygote

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const limit = 30 * time.Second

// daemon plays the other end of a zygote's socket.
type daemon struct {
	t    *testing.T
	conn *net.UnixConn
	done chan error
}

// begins starts a zygote whose workers run the shell's script.
func begins(t *testing.T, script string) *daemon {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	conns := [2]*net.UnixConn{}
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "end")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c.(*net.UnixConn)
	}
	d := &daemon{t, conns[0], make(chan error, 1)}
	z := &zygote{conn: conns[1], own: map[string]string{"A": "1"}, workers: map[int]bool{}}
	z.starts = func(z *zygote, stdout, stderr, start int) (pid, pidfd int, err error) {
		if script == "" {
			return 0, -1, errors.New("nothing starts here")
		}
		pidfd = -1
		pid, err = syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{
			Files: []uintptr{0, uintptr(stdout), uintptr(stderr), uintptr(start)}, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}})
		return pid, pidfd, err
	}
	go func() { d.done <- z.serve() }()
	t.Cleanup(func() { d.conn.Close(); conns[1].Close() })
	return d
}

// memfd returns a file with a text.
func (d *daemon) memfd(text string) int {
	d.t.Helper()
	fd, err := unix.MemfdCreate("setup", unix.MFD_CLOEXEC)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := unix.Write(fd, []byte(text)); err != nil {
		d.t.Fatal(err)
	}
	return fd
}

func (d *daemon) send(text string, fds ...int) {
	d.t.Helper()
	if _, _, err := d.conn.WriteMsgUnix([]byte(text), unix.UnixRights(fds...), nil); err != nil {
		d.t.Fatal(err)
	}
	closeAll(fds)
}

// hears returns the next packet and the descriptor that came along, -1 for none.
func (d *daemon) hears() (p packet, fd int) {
	d.t.Helper()
	_ = d.conn.SetReadDeadline(time.Now().Add(limit))
	buf, oob := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4))
	n, on, _, _, err := d.conn.ReadMsgUnix(buf, oob)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := json.Unmarshal(buf[:n], &p); err != nil {
		d.t.Fatal(err)
	}
	fd = -1
	if ms, err := unix.ParseSocketControlMessage(oob[:on]); err == nil && len(ms) > 0 {
		if got, err := unix.ParseUnixRights(&ms[0]); err == nil && len(got) > 0 {
			fd = got[0]
		}
	}
	return p, fd
}

func (d *daemon) ended() error {
	d.t.Helper()
	select {
	case err := <-d.done:
		return err
	case <-time.After(limit):
		d.t.Fatal("the zygote goes on")
		return nil
	}
}

func (d *daemon) null() (a, b int) {
	d.t.Helper()
	fds := [2]int{}
	for i := range fds {
		fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			d.t.Fatal(err)
		}
		fds[i] = fd
	}
	return fds[0], fds[1]
}

func (d *daemon) ready() {
	d.t.Helper()
	d.send(`{"op":"setup"}`, d.memfd(`{"cwd":"","env":{"B":"2"}}`))
	if p, _ := d.hears(); p.Op != "ready" {
		d.t.Fatalf("%+v, want ready", p)
	}
}

func TestServe_OrdersAndEnds_AreTold(t *testing.T) {
	d := begins(t, "exit 7")
	d.ready()
	a, b := d.null()
	d.send(`{"op":"of a later release"}`)
	d.send(`not even json`)
	d.send(`{"op":"fork","token":"T","sock":"/s"}`, a, b)
	p, fd := d.hears()
	if p.Op != "forked" || p.Token != "T" || p.Pid <= 1 || fd < 0 {
		t.Fatalf("%+v with descriptor %d", p, fd)
	}
	unix.Close(fd)
	if e, _ := d.hears(); e.Op != "exit" || e.Pid != p.Pid || e.Status != 7 {
		t.Errorf("%+v, want the end of %d with 7", e, p.Pid)
	}
	d.send(`{"op":"end"}`)
	if err := d.ended(); err != nil {
		t.Error(err)
	}
}

func TestServe_WorkerCannotStart_IsTold(t *testing.T) {
	d := begins(t, "")
	d.ready()
	a, b := d.null()
	d.send(`{"op":"fork","token":"T","sock":"/s"}`, a, b)
	if p, _ := d.hears(); p.Op != "failed" || p.Token != "T" || p.Error == "" {
		t.Errorf("%+v", p)
	}
}

func TestServe_DaemonIsGone_WorkersAreKilled(t *testing.T) {
	d := begins(t, "sleep 1000 & exec sleep 1000")
	d.ready()
	a, b := d.null()
	d.send(`{"op":"fork","token":"T","sock":"/s"}`, a, b)
	p, fd := d.hears()
	if p.Op != "forked" || fd < 0 {
		t.Fatalf("%+v with descriptor %d", p, fd)
	}
	defer unix.Close(fd)
	d.conn.Close()
	if err := d.ended(); err != nil {
		t.Error(err)
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(limit.Milliseconds())); n != 1 || err != nil {
		t.Errorf("the worker lives: %d, %v", n, err)
	}
}

func TestServe_WrongBeginning_IsAnError(t *testing.T) {
	for what, begin := range map[string]func(d *daemon){
		"another packet":    func(d *daemon) { d.send(`{"op":"fork"}`) },
		"no descriptor":     func(d *daemon) { d.send(`{"op":"setup"}`) },
		"a malformed setup": func(d *daemon) { d.send(`{"op":"setup"}`, d.memfd(`{"cwd":7}`)) },
		"nothing":           func(d *daemon) { d.conn.Close() },
	} {
		d := begins(t, "exit 0")
		begin(d)
		if err := d.ended(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestSeen_VariablesOfAPythonZygote_AreRemoved(t *testing.T) {
	own := map[string]string{
		"KEEP": "1", "OMP_NUM_THREADS": "1", addedVar: "OMP_NUM_THREADS,MKL_NUM_THREADS", "PYTHONPATH": "/package:/mine", pythonPathVar: "=/mine", "CHANGED": "old",
	}
	got := seen(own, &Setup{Env: map[string]string{"CHANGED": "new"}, NodeEnv: map[string]string{"NODE": "2"}})
	want := map[string]string{"KEEP": "1", "PYTHONPATH": "/mine", "CHANGED": "new", "NODE": "2"}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
	if own["OMP_NUM_THREADS"] != "1" {
		t.Error("the zygote's own variables were changed")
	}
}
