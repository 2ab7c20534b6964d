package process

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/web"
)

// WebConfig says where a process listens for HTTP.
type WebConfig struct {
	Listen string `json:"listen"`          // HOST:PORT
	Flag   string `json:"flag"`            // that chooses the port
	Given  bool   `json:"given,omitempty"` // the flag was given: then a port that is taken is an error
}

// Serve serves HTTP, without the fields Hosts and Log of the options. A port that is taken and that nobody has asked for is left out, because several nodes
// may stand on one machine. Without a configuration nothing is served, and the server is nil.
func (c *WebConfig) Serve(o web.Options, log *slog.Logger) (*web.Server, error) {
	if c == nil {
		return nil, nil
	}
	l, err := net.Listen("tcp", c.Listen)
	if errors.Is(err, unix.EADDRINUSE) && !c.Given {
		log.Info("nothing is served over HTTP: the port is taken, by another node of this machine perhaps", "address", c.Listen, "flag", c.Flag)
		return nil, nil
	}
	if errors.Is(err, unix.EADDRINUSE) {
		_, err = Listen(c.Listen, false, c.Flag) // it says who has the port
	}
	if err == nil && o.NoToken && !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		err = fmt.Errorf("%s is no loopback address, and nobody would need a token there", l.Addr())
	}
	if err != nil {
		return nil, NewBadConfig(fmt.Errorf("%s: %w", c.Flag, err))
	}
	log.Info("serving HTTP", "address", l.Addr().String())
	host, _, _ := net.SplitHostPort(c.Listen)
	o.Hosts, o.Log = []string{strings.Trim(host, "[]")}, log
	return web.Serve(l, o), nil
}
