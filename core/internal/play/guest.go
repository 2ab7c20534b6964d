package play

import (
	"context"
	"os"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// GuestAt makes the driver a guest of another node, and gives its connection there.
func (d *Driver) GuestAt(node uint32) *Driver {
	d.T.Helper()
	owner := d.Owner()
	g, err := d.tryGuestAt(node, wire.Hello{Version: wire.Version, Role: wire.RoleGuest, Pid: os.Getpid(), OwnerID: owner[:], JobID: d.Job.JobID, Namespace: d.Job.Namespace})
	if err != nil {
		d.T.Fatal(err)
	}
	return g
}

// RefusedAt says a hello to the daemon of another node, and gives the error.
func (d *Driver) RefusedAt(node uint32, h wire.Hello) error {
	_, err := d.tryGuestAt(node, h)
	return err
}

func (d *Driver) tryGuestAt(node uint32, h wire.Hello) (*Driver, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	u, r, err := wire.DialGuest(ctx, wire.DaemonPath(d.Dir), node, h)
	if err != nil {
		return nil, err
	}
	r.WorkerID = d.Hello.WorkerID
	g := &Driver{T: d.T, Dir: d.Dir, Hello: r, Job: d.Job, news: make(chan struct{}, 1)}
	g.Peer = wire.NewPeer(u, g.got, nil)
	g.Peer.Start()
	d.T.Cleanup(g.Peer.Close)
	return g, nil
}

// Dialer connects to other processes as this one does.
func (d *Driver) Dialer() transport.UnixDialer {
	return transport.UnixDialer{Session: d.Dir, Node: d.Owner().Node()}
}

// Says is the hello of this process to another one.
func (d *Driver) Says(role string, lease uint64) wire.Hello {
	owner := d.Owner()
	return wire.Hello{Version: wire.Version, Role: role, OwnerID: owner[:], Addr: wire.AddressOf(owner), LeaseID: lease, JobID: d.Job.JobID}
}

// elsewhere reports whether an owner is on another node than this process.
func (d *Driver) elsewhere(o ids.Owner) bool { return o.Node() != d.Owner().Node() }
