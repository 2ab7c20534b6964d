package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/internal/sessionlog"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// Names in the folder of a session with a head.
const (
	headLogName    = "logs/head.log"
	headSocketName = "h.sock" // where the daemon of this machine talks with the head
	stateName      = "state"  // the folder of the cluster's state
)

// headNumber is the number of the head among those of the nodes, which begin with 1.
const headNumber = 0

// generation is that of the heads until they can be recovered from a part of them.
const generation = 1

// headSaid is what a head says behind "ready", as JSON.
type headSaid struct {
	Port  int    `json:"port"`
	Local string `json:"local"` // HOST:PORT for processes of this machine
}

// runHead is the process of a cluster's head: the replicated state, the actors, and the connections of the nodes.
func runHead(args []string, release string) error {
	f := flag.NewFlagSet("head", flag.ContinueOnError)
	readyFD := f.Int("ready-fd", -1, "descriptor of the pipe on which this process says that it is ready")
	dir := f.String("session-dir", "", "the session's directory")
	if err := f.Parse(args); err != nil {
		return usage("head: wrong flags")
	}
	parent := openParent(*readyFD)
	isolate()
	err := sessiondir.LogTo(*dir, headLogName)
	var text string
	if err == nil {
		text, err = configText(fromStdin, os.Stdin)
	}
	if err == nil {
		err = serveHead(parent, *dir, text, release)
	}
	parent.sayWhy(err)
	return err
}

// serveHead opens what a head consists of, and ends it in the opposite order when a signal comes.
func serveHead(parent *parentPipe, dir, text, release string) error {
	var c headConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return &badConfig{fmt.Errorf("config: %w", err)}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	ctx, cancel := context.WithTimeout(context.Background(), leaderLimit)
	defer cancel()

	token, err := c.Token.read()
	if err != nil {
		return &badConfig{err}
	}
	tcp, err := listen(c.Listen, c.AnyPort, "--port")
	if err != nil {
		return err
	}
	defer tcp.Close()
	near, err := listenNear(filepath.Join(dir, headSocketName))
	if err != nil {
		return err
	}
	defer near.Close()
	// The log is in the session: a head that is started again goes on where the one before was.
	store, snapshots, err := sessionlog.Open(filepath.Join(dir, stateName))
	if err != nil {
		return err
	}
	defer store.Close()
	state, err := raftstate.Open(raftstate.Options{ID: "head", Stores: raftstate.Stores{Log: store, Stable: store, Snapshots: snapshots}})
	if err != nil {
		return fmt.Errorf("cluster state: %w", err)
	}
	defer closeState(state, log)
	if err := awaitState(ctx, state); err != nil {
		return fmt.Errorf("cluster state: %w", err)
	}
	self, authority, err := ownCluster(ctx, state, token, c.Insecure)
	if err != nil {
		return err
	}
	cert, err := ownCertificate(authority, self)
	if err != nil {
		return err
	}

	server := headlink.NewServer(log)
	p := &nodePlacer{server: server, state: state, log: log, ready: make(chan struct{})}
	h, err := head.Open(head.Options{State: state, Placer: p, Log: log})
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	defer h.Close()
	p.head = h
	close(p.ready)
	defer server.Close()
	server.Serve(h)
	following, unfollow := context.WithCancel(context.Background())
	defer unfollow()
	follow := func(what func() error) {
		go func() {
			if err := what(); following.Err() == nil {
				log.Error("the head does not follow its state any more", "error", err)
			}
		}()
	}
	follow(func() error { return server.Follow(following, state) })

	tokens := func() []pki.Token { return []pki.Token{token} }
	joins := &join.Server{Self: self, Authority: authority, Tokens: tokens, State: state, Release: release, Log: log}
	links, err := link.Open(link.Config{
		Self: self, TLS: cert.tls(), Tokens: tokens, Resolve: func(uint32) []string { return nil }, // nodes dial
		Serve: func(_ uint32, s *link.Stream) { s.Close() },
		Bulk:  func(_ uint32, c net.Conn) { c.Close() },
		Control: func(from uint32, p *wire.Peer) wire.Handler {
			server.Connected(from, p)
			return handler(server.Handle)
		},
		Down:  func(node uint32, why error) { log.Warn("the connection with a node is lost", "node", node, "why", why) },
		Admit: func(peer pki.Identity) error { return admit(state, peer) },
		Join:  joins.Serve, Session: linkSession, Log: log,
	})
	if err != nil {
		return err
	}
	defer links.Close()
	follow(func() error {
		return eachDeadNode(following, state, func(n record.Node) {
			server.Forget(n.Number)
			if n.Number != headNumber {
				links.Dead(n.Number)
			}
		})
	})
	for _, l := range []net.Listener{tcp, near} {
		go func() {
			if err := links.Listen(l); err != nil {
				log.Error("the head takes no connections any more", "error", err)
			}
		}()
	}
	at := tcp.Addr().(*net.TCPAddr)
	log.Info("serving", "session", dir, "cluster", self.Cluster, "address", at.String(), "tls", cert != nil)
	said, err := json.Marshal(headSaid{Port: at.Port, Local: localOf(at)})
	if err != nil {
		return err
	}
	if err := writePid(dir, headPidName); err != nil {
		return err
	}
	parent.say("ready " + string(said))
	<-term
	log.Info("SIGTERM: ending")
	return nil
}

// listenNear listens at a Unix socket. A head that was killed has left its own there.
func listenNear(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	return l, nil
}

// localOf returns where processes of this machine connect to a listener.
func localOf(at *net.TCPAddr) string {
	if !at.IP.IsUnspecified() {
		return at.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(at.Port))
}

// admit says which members may connect to the head: nodes that are not dead.
func admit(state *raftstate.Node, peer pki.Identity) error {
	if peer.Role != pki.RoleNode {
		return fmt.Errorf("a %s has nothing to say to a head", peer.Role)
	}
	for _, n := range state.ListNodes() {
		if n.Number == peer.Number && n.State == record.NodeDead {
			return fmt.Errorf("node %d is dead for this cluster (%s): start it again", n.Number, n.Reason)
		}
	}
	return nil
}

// handler makes a wire.Handler of a function that reports whether a message was its own. Whoever sends another one is of
// another version, or faulty.
func handler(handle func(*wire.Message) bool) wire.Handler {
	return func(m *wire.Message) {
		if !handle(m) {
			m.Peer().Close()
		}
	}
}
