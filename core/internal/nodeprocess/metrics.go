package nodeprocess

import (
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/metrics"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/web"
)

// metricsHandler serves the metrics of this node.
func metricsHandler(d *daemon.Daemon, o *daemon.Options, release string) http.Handler {
	return o.Metrics.Handler(d, metrics.Session{Address: o.Address, Name: filepath.Base(o.SessionDir), Version: release}, o.Log)
}

// serveOwnMetrics serves the metrics of a node that is its whole cluster. Such a node has no token, so only this machine is served.
func serveOwnMetrics(c *Config, d *daemon.Daemon, o *daemon.Options, release string) (*web.Server, error) {
	if c.MetricsPort == nil {
		return nil, nil
	}
	at := process.WebConfig{Listen: fmt.Sprintf("127.0.0.1:%d", *c.MetricsPort), Flag: "_metrics_export_port", Given: true}
	server, _, err := at.Serve(web.Options{Closed: metricsHandler(d, o, release), NoToken: true}, o.Log)
	return server, err
}

// serveMetrics serves the metrics of a node of a cluster to who has the token.
func (m *member) serveMetrics(d *daemon.Daemon, o *daemon.Options, release string) (*web.Server, error) {
	if m.conf.Metrics == nil {
		return nil, nil
	}
	server, _, err := m.conf.Metrics.Serve(web.Options{Closed: metricsHandler(d, o, release), Tokens: m.webTokens}, o.Log)
	return server, err
}
