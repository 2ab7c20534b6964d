package process

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/web"
)

// WebConfig says where a process listens for HTTP.
type WebConfig struct {
	Listen string `json:"listen"`          // HOST:PORT
	Flag   string `json:"flag"`            // that chooses the port
	Given  bool   `json:"given,omitempty"` // the flag was given: then a port that is taken is an error
	More   int    `json:"more,omitempty"`  // how many ports above it are tried when it is taken and was not given
}

// Serve serves HTTP, without the fields Hosts and Log of the options, and returns the server and its URL for processes of this machine. A port that is taken and that nobody has asked for is left out, because several nodes
// may stand on one machine. Without a configuration nothing is served, and the server is nil.
func (c *WebConfig) Serve(o web.Options, log *slog.Logger) (*web.Server, string, error) {
	if c == nil {
		return nil, "", nil
	}
	l, err := c.listen()
	if errors.Is(err, unix.EADDRINUSE) && !c.Given {
		log.Info("nothing is served over HTTP: the port is taken, by another node of this machine perhaps", "address", c.Listen, "flag", c.Flag)
		return nil, "", nil
	}
	if errors.Is(err, unix.EADDRINUSE) {
		_, err = Listen(c.Listen, false, c.Flag) // it says who has the port
	}
	if err == nil && o.NoToken && !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		err = fmt.Errorf("%s is no loopback address, and nobody would need a token there", l.Addr())
	}
	if err != nil {
		return nil, "", NewBadConfig(fmt.Errorf("%s: %w", c.Flag, err))
	}
	log.Info("serving HTTP", "address", l.Addr().String())
	host, _, _ := net.SplitHostPort(c.Listen)
	o.Hosts, o.Log = []string{strings.Trim(host, "[]")}, log
	at := l.Addr().String()
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		at = net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return web.Serve(l, o), "http://" + at, nil
}

// listen takes the port, or one above it.
func (c *WebConfig) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", c.Listen)
	host, text, _ := net.SplitHostPort(c.Listen)
	port, _ := strconv.Atoi(text)
	for more := 1; errors.Is(err, unix.EADDRINUSE) && !c.Given && more <= c.More && port+more < 1<<16; more++ {
		var next error
		if l, next = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port+more))); next == nil || !errors.Is(next, unix.EADDRINUSE) {
			return l, next
		}
	}
	return l, err
}
