package headprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/complaints"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/packages"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// generation is that of the heads until they can be recovered from a part of them.
const generation = 1

// LogName is the head's log in the folder of its session.
const LogName = "logs/head.log"

// Run is the process of a cluster's head: the replicated state, the actors, and the connections of the nodes. readyFD is the
// descriptor of the pipe on which it says that it is ready, and its configuration comes by the standard input.
func Run(readyFD int, dir, release string) error {
	parent := process.OpenParent(readyFD)
	process.Isolate()
	err := sessiondir.LogTo(dir, LogName)
	var text string
	if err == nil {
		text, err = process.ConfigText(process.FromStdin, os.Stdin)
	}
	if err == nil {
		err = serveHead(parent, dir, text, release)
	}
	parent.SayWhy(err)
	return err
}

// serveHead opens what a head consists of, and ends it in the opposite order when a signal comes.
func serveHead(parent *process.Parent, dir, text, release string) error {
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return process.NewBadConfig(fmt.Errorf("config: %w", err))
	}
	log := slog.New(complaints.Bound(slog.NewTextHandler(os.Stderr, nil)))
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	ctx, cancel := context.WithTimeout(context.Background(), process.LeaderLimit)
	defer cancel()

	token, err := c.Token.Read()
	if err != nil {
		return process.NewBadConfig(err)
	}
	tcp, err := process.Listen(c.Listen, c.AnyPort, "--port")
	if err != nil {
		return err
	}
	defer tcp.Close()
	near, err := listenNear(filepath.Join(dir, process.HeadSocket))
	if err != nil {
		return err
	}
	defer near.Close()
	stored, err := c.State.open(dir, log)
	if err != nil {
		return err
	}
	defer closeStored(stored, log)
	state, err := raftstate.Open(raftstate.Options{ID: stored.ID(), Stores: stored.Stores()})
	if err != nil {
		return fmt.Errorf("cluster state: %w", err)
	}
	defer closeState(state, log)
	if err := awaitState(ctx, state); err != nil {
		return fmt.Errorf("cluster state: %w", err)
	}
	self, keys, err := ownCluster(ctx, state, token, &c, log)
	if err != nil {
		return err
	}
	cert, err := ownCertificate(self, keys, c.Insecure, log)
	if err != nil {
		return err
	}
	former, err := endFormer(ctx, state, dir, log)
	if err != nil {
		return err
	}
	timing, err := c.timing(ctx, state)
	if err != nil {
		return err
	}
	exclusive, err := c.exclusive(ctx, state)
	if err != nil {
		return err
	}

	depot, err := packages.OpenDepot(filepath.Join(c.State.folder(dir), "packages"), runs(state), log)
	if err != nil {
		return err
	}

	server := headlink.NewServer(log)
	h, err := head.Open(head.Options{State: state, Placer: &nodePlacer{server: server, state: state, log: log}, Log: log})
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	defer h.Close()
	defer server.Close()
	server.Judge(headlink.Judge{Timing: timing, Now: process.BootTime, State: state, Exclusive: exclusive})
	server.Serve(h)
	following, unfollow := context.WithCancel(context.Background())
	defer unfollow()
	go cert.Renew(following, log)
	follow := func(what func() error) {
		go func() {
			if err := what(); following.Err() == nil {
				log.Error("the head does not follow its state any more", "error", err)
			}
		}()
	}
	follow(func() error { return server.Follow(following, state) })
	follow(func() error { return followJobs(following, state, depot) })

	joins := &join.Server{Self: self, Sign: keys.Sign, Admin: keys.Admin, Tokens: keys.Tokens, State: state, Release: release, Log: log}
	var links *link.Links
	relays := newRelay(func(node uint32) (*link.Link, error) { return links.To(node) }, state, log)
	links, err = link.Open(link.Config{
		Self: self, TLS: cert.TLS(), Tokens: keys.Tokens, Resolve: func(uint32) []string { return nil }, // nodes dial
		Serve: func(from uint32, s *link.Stream) { relays.Serve(from, s, s.Target()) },
		Bulk:  depot.Serve,
		Control: func(from uint32, p *wire.Peer) wire.Handler {
			keys.Connected(from, p)
			server.Connected(from, p)
			node := pki.Identity{Cluster: self.Cluster, Generation: self.Generation, Role: pki.RoleNode, Number: from}
			return process.Handler(func(m *wire.Message) bool { return keys.Handle(node, m) || server.Handle(m) })
		},
		Down:  func(node uint32, why error) { log.Warn("the connection with a node is lost", "node", node, "why", why) },
		Fits:  process.Fits(pki.RoleHead),
		Admit: func(peer pki.Identity) error { return admit(state, keys, peer) },
		Join:  joins.Serve, Session: process.LinkSession, Log: log,
	})
	if err != nil {
		return err
	}
	defer links.Close()
	keys.Serve(links)
	follow(func() error { return followKeys(following, state, keys) })
	go keys.Step(following, nil)
	follow(func() error {
		return eachDeadNode(following, state, func(n record.Node) {
			server.Forget(n.Number)
			if n.Number != process.HeadNumber {
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
	health, err := c.Web.Serve(map[string]func() error{"/api/gcs_healthz": state.Err}, keys.Tokens, log)
	if err != nil {
		return err
	}
	defer health.Close()
	at := tcp.Addr().(*net.TCPAddr)
	log.Info("serving", "session", dir, "cluster", self.Cluster, "address", at.String(), "tls", cert != nil)
	said, err := json.Marshal(Said{Port: at.Port, Local: localOf(at), Former: former})
	if err != nil {
		return err
	}
	if err := process.WritePid(dir, process.HeadPid); err != nil {
		return err
	}
	parent.Say("ready " + string(said))
	select {
	case <-term:
		log.Info("SIGTERM: ending")
		return nil
	case <-state.Failed(): // nothing can be committed any more, so nobody is served any more
		return fmt.Errorf("cluster state: %w", state.Err())
	}
}

// ownCertificate returns the head's own certificate, which is renewed when the keys change; nil without TLS.
func ownCertificate(self pki.Identity, keys *trust.Keeper, insecure bool, log *slog.Logger) (*process.Certificate, error) {
	if insecure {
		return nil, nil
	}
	cert, err := process.OwnCertificate(self, keys.Sign)
	if err != nil {
		return nil, err
	}
	keys.Renews(func() {
		if err := cert.Now(context.Background()); err != nil {
			log.Error("no new certificate for the head itself", "error", err)
		}
	})
	return cert, nil
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

// admit says which nodes may connect to the head: those that are not dead and were not revoked.
func admit(state *raftstate.Node, keys *trust.Keeper, peer pki.Identity) error {
	if keys.IsRevoked(peer.Number) {
		return fmt.Errorf("%w: node %d was revoked", link.ErrDead, peer.Number)
	}
	for _, n := range state.ListNodes() {
		if n.Number == peer.Number && n.State == record.NodeDead {
			return fmt.Errorf("%w: node %d (%s)", link.ErrDead, n.Number, n.Reason)
		}
	}
	return nil
}
