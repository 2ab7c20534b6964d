package workers

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// statusWait is how long the end of a worker waits for what may never come: an exit status other than 0 from the zygote,
// output, and the end of a connection that another process keeps open.
const statusWait = 100 * time.Millisecond

// toldWait is how long the end of a worker waits for the exit status if the zygote has already waited for the process:
// then its message is on its way, and takes longer than a moment only where the zygote gets hardly any processor time. If
// the zygote has ended, or was ended because its job is over, no message comes.
const toldWait = 5 * time.Second

// readWait is how long the end of a worker waits until all that the worker sent has been read. Reading takes
// milliseconds, and much longer only where the daemon gets hardly any processor time.
const readWait = 30 * time.Second

// maxStartKills is how many workers in a row may be killed while they start
// before that counts as a fault of their environment.
const maxStartKills = 30

// End is how a worker ended, as reported to the processes that needed the worker.
type End struct {
	Detail string     // in words
	Code   fault.Code // what its task fails with; "" for a crash
	Bytes  uint64     // what it held when it was ended for holding too much memory
	// StartFailure says why its environment is at fault; it is "" unless the worker
	// ended before it was ready, and by itself.
	StartFailure string
}

// processGone is called when the pidfd says that the worker has ended. What the worker
// sent last is still in its socket, and what it wrote last is in the pipes. The exit
// status was read from the process if the zygote has not waited for it yet; else it is
// on its way from the zygote.
func (t *Table) processGone(w *Worker, p *Process) {
	var output *Output
	var starting bool
	var peer *wire.Peer
	var over <-chan struct{}
	t.locked(func() {
		if w.zygote != nil {
			over = w.zygote.over
		}
		if p.End.Status != 0 { // a 0 may mean that reading it is forbidden: the zygote tells
			w.setStatus(p.End)
		}
		output, starting, peer = w.output, w.state == Starting, w.peer
	})
	if peer != nil && hungUp(peer.Conn()) {
		waitFor(peer.Done(), time.After(readWait))
		peer = nil
	}
	limit := time.NewTimer(statusWait)
	defer limit.Stop()
	wait := func(event <-chan struct{}) {
		if !waitFor(event, limit.C) {
			limit.Reset(0)
		}
	}
	if peer != nil { // a process that the worker has forked may keep the socket open
		wait(peer.Done())
	}
	if p.End.Known {
		wait(w.statusSet)
	} else {
		told := time.NewTimer(toldWait)
		defer told.Stop()
		select {
		case <-w.statusSet:
		case <-over:
		case <-told.C:
		}
	}
	t.locked(func() { w.setStatus(p.End) })
	if starting && output != nil {
		wait(output.Done())
	}
	stderr := ""
	if !starting {
		stderr = output.StderrTail()
	}
	outside := false
	t.locked(func() {
		outside = (w.killedFromOutside() || w.killedDisconnected && w.status.Status == -int(unix.SIGKILL)) && w.state == Ready
	})
	if outside {
		w.events.KilledFromOutside()
	}
	t.locked(func() { t.finish(w, stderr) })
}

// waitFor waits for an event, and reports whether it came before the limit.
func waitFor(event <-chan struct{}, limit <-chan time.Time) bool {
	select {
	case <-event:
		return true
	case <-limit:
		return false
	}
}

// hungUp reports whether nobody can send on a connection any more: its other end is closed in every process. What was
// sent before may still have to be read.
func hungUp(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	up := false
	err = raw.Control(func(fd uintptr) {
		list := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(list, 0)
		up = err == nil && n == 1 && list[0].Revents&unix.POLLHUP != 0
	})
	return err == nil && up
}

// setStatus notes how a worker ended, if that is not known yet; mu held.
func (w *Worker) setStatus(e Ending) {
	if e.Known && !w.status.Known {
		w.status = e
		close(w.statusSet)
	}
}

// end says how a worker ended. Stderr is what the worker wrote last; mu held.
func (w *Worker) end(stderr string) End {
	if x := w.excess; x.Text != "" {
		return End{Detail: x.Text, Code: x.Code, Bytes: x.Bytes}
	}
	detail := w.ExitText()
	switch {
	case w.reason != "":
	case w.killedFromOutside():
		detail += ", which nobody in this session has sent (the kernel does when it has no memory left, OOM: dmesg tells)"
	case w.killedDisconnected && w.status.Status == -int(unix.SIGKILL): // by whom, nobody knows: a large process takes a while to go
		detail += ", after its connection had closed (the kernel ends processes like this when it has no memory left, OOM: dmesg tells)"
	}
	switch {
	case w.reason != "":
		detail += " on purpose: " + w.reason
	case w.status.Status != 0:
		detail += stderr
	}
	return End{Detail: detail, Bytes: w.excess.Bytes}
}

// finish reports a worker's end. Stderr is what the worker wrote last to standard
// error; mu held.
func (t *Table) finish(w *Worker, stderr string) {
	if w.state == Gone {
		return
	}
	end := w.end(stderr)
	if w.state == Starting && !w.dismissed && !t.killedAtStart(w) {
		end.StartFailure = startFailure(end.Detail+" before it was ready", w.output)
	}
	t.remove(w)
	w.events.Gone(end)
}

// killedAtStart reports whether a worker that was not ready yet was killed from
// outside, which says nothing about its environment: another one is started. Where
// every worker is killed the restarts end some time; mu held.
func (t *Table) killedAtStart(w *Worker) bool {
	if !w.status.Known || w.status.Status != -int(unix.SIGKILL) {
		return false
	}
	t.startKills++
	return t.startKills <= maxStartKills
}
