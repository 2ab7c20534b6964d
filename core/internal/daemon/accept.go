package daemon

import (
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// maxHandshakes bounds the connections that have not sent their hello.
const maxHandshakes = 4096

// finalMessagesWait is how long the end of a driver's process waits for what the driver has
// sent before, which may still be in its socket.
const finalMessagesWait = 100 * time.Millisecond

// accept takes connections. The handshake of each runs on a goroutine of its own.
func (d *Daemon) accept() {
	defer d.served.Done()
	slots := make(chan struct{}, maxHandshakes)
	for {
		u, err := d.socket.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Most likely there are no descriptors left: others may be closed meanwhile.
			d.refuse("accept", err)
			time.Sleep(20 * time.Millisecond)
			continue
		}
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			if err := d.welcome(u); err != nil {
				d.refuse("connection refused", err)
				_ = u.SetWriteDeadline(time.Now().Add(time.Second))
				_ = wire.RefuseHello(u, err)
				u.Close()
			}
		}()
	}
}

// welcome does the handshake and starts to serve the connection.
func (d *Daemon) welcome(u *net.UnixConn) error {
	h, err := wire.ReadHello(u)
	if err != nil {
		return err
	}
	if h.Version != wire.Version {
		return fault.New(fault.VersionMismatch, "this daemon speaks protocol version %d, the caller %d: both must come from one installation", wire.Version, h.Version)
	}
	if h.Role == wire.RoleReach {
		return d.reach(u, h)
	}
	if h.Role == wire.RoleHandover {
		return d.handOver(u, h)
	}
	if h.Role == wire.RoleProgress {
		return d.startPage(u, h)
	}
	if h.Role == wire.RolePromise {
		return d.promisePage(u)
	}
	pid, pidfd := workers.PeerProcess(u, h.Pid)
	c := &client{role: h.Role, pid: pid}
	switch h.Role {
	case wire.RoleDriver, wire.RoleService:
		c.self = ids.NewWorkerOn(d.o.Number)
	case wire.RoleWorker:
		if c.worker, err = d.claim(h.Token); err != nil {
			break
		}
		c.self, c.job = c.worker.self, c.worker.job
	case wire.RoleSuccessor:
		c.self = ids.NewWorkerOn(d.o.Number)
		c.predecessor, err = d.predecessorOf(h.Token)
		if err == nil {
			c.job = c.predecessor.job
		}
	case wire.RoleCLI:
	default:
		err = fault.New(fault.BadRequest, "unknown role %q", h.Role)
	}
	if err != nil {
		closeFD(pidfd)
		return err
	}
	r := wire.HelloReply{
		Version: wire.Version, NodeID: d.o.Node[:], SessionDir: d.o.SessionDir, NodeAddr: d.o.Address,
		ArenaBytes: d.o.ArenaBytes, DaemonPid: os.Getpid(), Totals: d.totals(),
	}
	fd := -1
	if c.role != wire.RoleCLI {
		r.WorkerID, r.Socket, fd = c.self[:], d.socketOf(c.self.Owner()), d.objects.FD()
	}
	if c.job != nil {
		r.JobID, r.Namespace = c.job.ID[:], c.job.namespace
	}
	c.peer = wire.NewPeer(u, func(m *wire.Message) { d.handle(c, m) }, func(error) { go d.connectionClosed(c) })
	c.peer.Tag = c
	if !d.enlist(c) {
		closeFD(pidfd)
		return fault.New(fault.Closed, "the daemon is ending")
	}
	if err := wire.SendHelloReply(u, r, fd); err != nil {
		closeFD(pidfd)
		d.connectionClosed(c)
		return err
	}
	c.peer.Start()
	if c.worker != nil || c.role == wire.RoleCLI || c.role == wire.RoleSuccessor || pidfd < 0 {
		// A worker's pidfd comes from its zygote, and a successor runs in this process.
		closeFD(pidfd)
		return nil
	}
	p, err := workers.WatchHandle(pid, pidfd, func(*workers.Process) {
		// What the process sent last may still be in its socket.
		select {
		case <-c.peer.Done():
		case <-time.After(finalMessagesWait):
		}
		d.connectionClosed(c)
		c.keys.Died(d.ctx, d.keyStore)
	})
	if err == nil {
		d.locked(func() {
			if c.proc = p; c.gone {
				p.Release()
			}
		})
	}
	return nil
}

func closeFD(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

// enlist enters the connection in the tables. It reports false when the daemon is closing.
func (d *Daemon) enlist(c *client) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return false
	}
	d.lastClient++
	c.id = d.lastClient
	d.clients[c.id] = c
	if c.role != wire.RoleCLI {
		d.owners[c.self.Owner()] = c
	}
	if c.worker != nil {
		d.workerConnected(c)
	}
	if c.predecessor != nil {
		d.event(func(m *sched.Machine) { m.AddClient(c.id, c.job.ID) })
	}
	return true
}

// totals are what this node has, as processes are told.
func (d *Daemon) totals() wire.Totals {
	d.mu.Lock()
	defer d.mu.Unlock()
	return wire.Totals{Resources: d.m.Totals().Wire(), CanGrow: d.o.CanGrow || d.o.Cluster != nil, Wait: d.o.WaitForFit, LargestGPU: d.m.LargestGPU()}
}
