package process

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/jobweb"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/web"
)

// WebFile is the file in the folder of a session with the URL at which jobs are served over HTTP.
const WebFile = "dashboard"

// Web is what the process with the head role serves over HTTP: its health, and the jobs of the cluster.
type Web struct {
	server *web.Server
	jobs   *jobweb.Server
	file   string
}

// WebOptions say what ServeWeb serves.
type WebOptions struct {
	Dir    string                  // the session's folder
	Python string                  // the interpreter of the server of jobs
	Health map[string]func() error // by path
	Tokens func() []pki.Token
	NoJobs bool // nothing but health
	Log    *slog.Logger
}

// ServeWeb begins to serve, and writes down where.
func (c *WebConfig) ServeWeb(o WebOptions) (*Web, error) {
	s := &Web{jobs: jobweb.New(jobweb.Options{Dir: o.Dir, Python: o.Python, Log: o.Log}), file: filepath.Join(o.Dir, WebFile)}
	serve := web.Options{Open: o.Health, Tokens: o.Tokens, MaxBody: jobweb.MaxBody}
	if !o.NoJobs {
		serve.Closed = s.jobs
	}
	var url string
	var err error
	if s.server, url, err = c.Serve(serve, o.Log); err != nil {
		return nil, err
	}
	if url == "" || o.NoJobs {
		return s, nil
	}
	if err := os.WriteFile(s.file, []byte(url+"\n"), 0o600); err != nil {
		s.Close()
		return nil, fmt.Errorf("where HTTP is served: %w", err)
	}
	return s, nil
}

// Close ends the server. Jobs go on.
func (s *Web) Close() {
	if s == nil {
		return
	}
	s.server.Close()
	s.jobs.Close()
	_ = os.Remove(s.file) // absent when nothing was served
}
