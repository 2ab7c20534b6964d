package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
)

// daemonSaid is what a daemon says behind "ready", as JSON.
type daemonSaid struct {
	Node   string `json:"node"` // the node's long id, in hex
	Number uint32 `json:"number"`
}

// nodeID reads the long id of a node.
func (s *daemonSaid) nodeID() (id ids.Node, err error) {
	b, err := hex.DecodeString(s.Node)
	if err == nil && len(b) != len(id) {
		err = fmt.Errorf("%d bytes, must be %d", len(b), len(id))
	}
	copy(id[:], b)
	return id, err
}

// serveMember is the process of a node whose head is another process. It joins and registers first, and serves processes of this
// machine when the cluster knows the node.
func serveMember(parent *parentPipe, c *config, o daemon.Options, release string) error {
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := make(chan struct{})
	go func() {
		<-term
		close(asked)
		cancel() // what of the start is under way
	}()

	m, err := joinCluster(ctx, c.Member, &o, release)
	if err != nil {
		return err
	}
	defer m.close()
	d, lock, err := openDaemon(o)
	if err != nil {
		return err
	}
	defer leaveDaemon(o.SessionDir)
	defer lock.Close()
	defer d.Close(true)
	defer m.leaveHead()
	if err := m.connect(ctx, d, nodeRecord(d, &o)); err != nil {
		m.withdraw()
		return err
	}
	d.SetHead(m.head)
	d.Serve()
	said, err := json.Marshal(daemonSaid{Node: o.Node.String(), Number: o.Number})
	if err != nil {
		return err
	}
	o.Log.Info("serving", "session", o.SessionDir, "node", o.Node, "number", o.Number, "name", o.Name, "totals", o.Totals.String(), "arena", o.ArenaBytes)
	parent.say("ready " + string(said))
	select {
	case <-d.Stopping():
	case <-asked:
		o.Log.Info("SIGTERM: ending")
	}
	return nil
}
