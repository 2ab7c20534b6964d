package nodeprocess

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/metrics"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/web"
)

// serveMember is the process of a node whose head is another process. It joins and registers first, and serves processes of this
// machine when the cluster knows the node.
func serveMember(parent *process.Parent, c *Config, o daemon.Options, release string) error {
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
	if c.Member.Metrics != nil {
		o.Metrics = metrics.New()
	}
	d, lock, err := openDaemon(o)
	if err != nil {
		return err
	}
	defer process.LeaveDaemon(o.SessionDir)
	defer lock.Close()
	defer d.Close(true)
	defer m.leaveHead()
	self := nodeRecord(d, &o)
	if err := m.connect(ctx, d, self); err != nil {
		m.withdraw()
		return err
	}
	d.SetHead(m.head)
	d.Serve()
	health, _, err := c.Member.Web.Serve(web.Options{Open: m.health(d)}, o.Log)
	if err != nil {
		m.withdraw()
		return err
	}
	defer health.Close()
	shown, err := m.serveMetrics(d, &o, release)
	if err != nil {
		m.withdraw()
		return err
	}
	defer shown.Close()
	said, err := json.Marshal(Said{Node: o.Node.String(), Number: o.Number, Warnings: m.warnings(ctx, self)})
	if err != nil {
		return err
	}
	o.Log.Info("serving", "session", o.SessionDir, "node", o.Node, "number", o.Number, "name", o.Name, "totals", o.Totals.String(), "arena", o.ArenaBytes)
	process.LogInsecure(c.Member.Insecure, o.Log)
	parent.Say("ready " + string(said))
	select {
	case <-d.Stopping():
	case <-asked:
		o.Log.Info("SIGTERM: ending")
		return nil
	}
	return m.declared()
}

// health says whether this node is well, under the paths at which Ray's nodes do.
func (m *member) health(d *daemon.Daemon) map[string]func() error {
	well := func() error {
		select {
		case <-d.Stopping():
			return errors.New("the node ends")
		default:
			return m.declared()
		}
	}
	return map[string]func() error{"/api/local_raylet_healthz": well, "/api/healthz": well}
}
