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
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/blobs"
	"github.com/eagleray/eagleray/core/internal/complaints"
	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/packages"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/relay"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// generation is that of a new cluster. Each recovery (Recover) counts it up.
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
	process.HoldSecrets(log)
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
	folder := c.State.Folder(dir)
	stored, err := c.State.open(dir, log)
	if err != nil {
		return err
	}
	defer closeStored(stored, log)
	at := tcp.Addr().(*net.TCPAddr)
	addresses := c.addresses(at)
	here := linkmsg.HeadAt{ID: stored.ID(), Addresses: addresses, Level: raftstate.Level}
	id, err := c.identify(ctx, folder, stored, here, token, release, log)
	if err != nil {
		return err
	}
	// The parts know each other: links carry the messages of the group, and the group says where links go to.
	var links *link.Links
	var group *headgroup.Group
	var book *headgroup.Book
	ahead, err := c.presentKeys(ctx, id, here, token, release, log)
	if err != nil {
		return err
	}
	keyState := &keyState{file: id.file}
	keys, err := c.openKeys(ctx, keyState, id.self.Cluster, token, &group, &book, log)
	if err != nil {
		return err
	}
	if ahead {
		keys.Ahead()
	}
	if err := id.file.Write(folder); err != nil {
		return err
	}
	cert, err := ownCertificate(id.self, keys, c.Insecure, log)
	if err != nil {
		return err
	}
	others := &otherLinks{&links}
	book = headgroup.NewBook(folder, id.file, log)
	book.Moved(id.self.Number, addresses)
	rest := &otherHeads{book: book, number: id.self.Number, bulk: others.bulk}
	known := &ranks{book: book, state: &rest.state}
	values, err := blobs.Open(blobs.Options{Dir: filepath.Join(folder, blobs.Folder), Others: valueHeads{rest, others.values}, Log: log})
	if err != nil {
		return err
	}
	defer values.Close()
	group = headgroup.New(headgroup.Options{ID: stored.ID(), Number: id.self.Number, Generation: id.self.Generation, Book: book, Dial: others.raft, Control: others.control, Keys: keys.Version, Revoke: keys.RevokeHead, Lacks: values.Lacks, Stalled: stored.Stalled, Log: log})
	defer group.Close()
	joins := &join.Server{Self: id.self, Sign: keys.Sign, Sealed: keys.Sealed, Admin: keys.Admin, Tokens: keys.Tokens, Counts: keys.Counts, Heads: group, Release: release, Log: log}
	office := newOffice()
	var state *raftstate.Node
	var relays *relay.Relay
	var depot *packages.Depot
	running, stop := context.WithCancel(context.Background())
	defer stop()
	links, err = link.Open(link.Config{
		Self: id.self, TLS: cert.TLS(), Tokens: keys.Tokens, Resolve: book.Addresses, // nodes dial, and heads dial each other
		Keep: book.Has, Raft: group.Serve,
		Serve: func(from uint32, s *link.Stream) {
			if isConversation(s) && !known.isHead(from) {
				office.converse(running, from, s)
				return
			}
			if node, _, ok := relay.ParseTarget(s.Target()); ok && known.isHead(from) { // another head carries a connection of a node with this one
				if err := links.AcceptRelayed(s); err != nil {
					log.Warn("a connection that another head carries was refused", "node", node, "why", err)
				}
				return
			}
			relays.Serve(from, s, s.Target())
		},
		Bulk: func(from uint32, c net.Conn) { serveBulk(from, c, values, depot) },
		Control: func(from uint32, p *wire.Peer) wire.Handler {
			group.Connected(p)
			if known.isHead(from) {
				return process.Handler(func(m *wire.Message) bool { return group.Handle(from, m) })
			}
			keys.Connected(from, p)
			node := pki.Identity{Cluster: id.self.Cluster, Generation: id.self.Generation, Role: pki.RoleNode, Number: from}
			return process.Handler(func(m *wire.Message) bool { return keys.Handle(node, m) })
		},
		Down:  func(node uint32, why error) { log.Warn("the connection with a node is lost", "node", node, "why", why) },
		Fits:  known.fits,
		Admit: func(peer pki.Identity) error { return admit(state, keys, peer) },
		Join:  joins.Serve, Session: process.LinkSession, Log: log,
	})
	if err != nil {
		return err
	}
	defer links.Close()
	options := raftstate.Options{ID: stored.ID(), Blobs: values, Stores: stored.Stores(), Transport: group.Transport(), Forwarder: group, Lowest: group.Lowest, LogOutput: headgroup.RaftLog(log)}
	if id.first {
		options.Voters = []raftstate.Voter{{ID: stored.ID(), Address: stored.ID()}}
	}
	state, err = raftstate.Open(options)
	if err != nil {
		return fmt.Errorf("cluster state: %w", err)
	}
	defer closeState(state, log)
	joins.State = state
	rest.state.Store(state)
	values.Begin(state)
	keyState.open(state)
	depot, err = packages.OpenDepot(packages.DepotOptions{Dir: filepath.Join(folder, "packages"), Runs: runs(state), Fresh: state.Fresh,
		Others: rest, Log: log})
	if err != nil {
		return err
	}
	defer depot.Close()
	relays = newRelay(links.To, state, book, log)
	group.Begin(state)
	noting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	seeks := &seeker{giveUp: giveUp, c: &c, cluster: id.self.Cluster, self: linkmsg.HeadAt{ID: stored.ID(), Number: id.self.Number}, state: state, group: group, book: book, keys: keys, release: release, log: log}
	go seeks.run(running)
	keys.Serve(links)
	for _, l := range []net.Listener{tcp, near} {
		go func() {
			if err := links.Listen(l); err != nil {
				log.Error("the head takes no connections any more", "error", err)
			}
		}()
	}
	former, err := c.note(noting, state, group, id, dir, addresses, log)
	if why := context.Cause(noting); err != nil && why != nil && !errors.Is(why, context.DeadlineExceeded) {
		err = why
	}
	if err != nil {
		return err
	}
	go cert.Renew(running, log)
	follow := func(what func() error) {
		go func() {
			if err := what(); running.Err() == nil {
				log.Error("the head does not follow its state any more", "error", err)
			}
		}()
	}
	follow(func() error { return followJobs(running, state, depot) })
	follow(func() error { return followKeys(running, state, keys, book) })
	go keys.Step(running, func() bool { return state.Reigns() != nil })
	go depot.Follow(running)
	go values.Follow(running)
	follow(func() error {
		return eachDeadNode(running, state, func(n record.Node) {
			if !book.Has(n.Number) && n.Number != process.HeadNumber {
				links.Dead(n.Number)
			}
		})
	})
	unfit := make(chan error, 1)
	ruled := make(chan struct{})
	go func() {
		defer close(ruled)
		if err := office.rule(running, &c, state, group, log); err != nil {
			unfit <- err
		}
	}()
	defer func() {
		stop()
		<-ruled
	}()
	served, err := c.Web.ServeWeb(process.WebOptions{Dir: dir, Python: os.Getenv("EAGLERAY_PYTHON"), Health: map[string]func() error{"/api/gcs_healthz": state.Err},
		Tokens: keys.Tokens, NoJobs: c.NoJobs, Log: log})
	if err != nil {
		return err
	}
	defer served.Close()
	log.Info("serving", "session", dir, "cluster", id.self.Cluster, "head", id.self.Number, "address", at.String(), "tls", cert != nil)
	process.LogInsecure(c.Insecure, log)
	said, err := json.Marshal(Said{Port: at.Port, Local: localOf(at), Former: former, Number: id.self.Number})
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
		handOver(group, log)
		return nil
	case err := <-unfit:
		return err
	case <-group.Removed():
		log.Warn("this head was removed from the cluster")
		if err := group.NoteRemoved(); err != nil {
			return err
		}
		return process.ErrRemoved
	case <-state.Failed(): // nothing can be committed any more, so nobody is served any more
		return fmt.Errorf("cluster state: %w", state.Err())
	}
}

// note writes into the state what this head has been told. When it returns, this head's state has all that was committed before it began.
func (c *Config) note(ctx context.Context, state *raftstate.Node, group *headgroup.Group, id *identity, dir string, addresses []string, log *slog.Logger) (former bool, err error) {
	if err := group.Note(ctx, addresses); err != nil {
		if stopped := state.Err(); stopped != nil {
			err = stopped
		}
		return false, fmt.Errorf("cluster state: %w", noMajority(state, err))
	}
	if err := id.noteCluster(ctx, state); err != nil {
		return false, err
	}
	if former, err = endFormer(ctx, state, id.self.Number, dir, log); err != nil {
		return former, err
	}
	if err := c.noteTimeout(ctx, state); err != nil {
		return former, err
	}
	return former, c.noteExclusive(ctx, state)
}

// noMajority says of a head that cannot read its state why that may be so.
func noMajority(state *raftstate.Node, err error) error {
	if voters := state.Voters(); voters > 1 && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%d of the %d heads with a vote have to run and reach each other, and they do not: start the others, too. If their machines are lost for good, see `eagleray heads recover --help` (%w)", voters/2+1, voters, err)
	}
	return err
}

// handOverLimit is how long a head that ends waits for another one to lead.
const handOverLimit = 2 * time.Second

// handOver has another head lead, if there is one, so that nobody waits for an election.
func handOver(group *headgroup.Group, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), handOverLimit)
	defer cancel()
	if err := group.HandOver(ctx); err != nil {
		log.Warn("this head ends, and not all others follow another one yet", "error", err)
	}
}

// addresses returns where other machines reach this head.
func (c *Config) addresses(at *net.TCPAddr) []string {
	host := c.Host
	if host == "" {
		host = at.IP.String()
		if at.IP.IsUnspecified() {
			host = "127.0.0.1"
		}
	}
	return []string{net.JoinHostPort(host, fmt.Sprint(at.Port))}
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

// admit says which members may connect to the head: other heads, and nodes that are not dead and were not revoked.
func admit(state *raftstate.Node, keys *trust.Keeper, peer pki.Identity) error {
	if keys.IsRevoked(peer.Number) {
		return fmt.Errorf("%w: %s %d was revoked", link.ErrDead, peer.Role, peer.Number)
	}
	if peer.Role == pki.RoleHead {
		return nil
	}
	for _, n := range state.ListNodes() {
		if n.Number == peer.Number && n.State == record.NodeDead {
			return fmt.Errorf("%w: node %d (%s)", link.ErrDead, n.Number, n.Reason)
		}
	}
	return nil
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
