package nodeprocess

import (
	"fmt"
	"log/slog"

	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
)

// DashboardConfig says where a daemon that is its whole cluster serves jobs over HTTP.
type DashboardConfig struct {
	Web   process.WebConfig   `json:"web"`
	Token process.TokenSource `json:"token"`
}

// serve begins to serve; without a configuration nothing is served.
func (c *DashboardConfig) serve(dir, python string, log *slog.Logger) (*process.Web, error) {
	if c == nil {
		return nil, nil
	}
	token, err := c.Token.Read()
	if err != nil {
		return nil, process.NewBadConfig(fmt.Errorf("the token for jobs over HTTP: %w", err))
	}
	process.HoldSecrets(log)
	well := func() error { return nil } // it answers
	return c.Web.ServeWeb(process.WebOptions{Dir: dir, Python: python, Health: map[string]func() error{"/api/gcs_healthz": well},
		Tokens: func() []pki.Token { return []pki.Token{token} }, Log: log})
}
