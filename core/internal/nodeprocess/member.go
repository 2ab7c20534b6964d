package nodeprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/alarm"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/direct"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/promise"
	"github.com/eagleray/eagleray/core/internal/relay"
	"github.com/eagleray/eagleray/core/internal/releases"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// member is a node as a part of a cluster: its connections with the head and with the other nodes. It is the daemon's
// pipes.Network, and what the head tells the node.
type member struct {
	conf     *MemberConfig
	identity pki.Identity
	cert     *process.Certificate // nil without TLS
	keys     *pki.Keys            // of the certificate; nil without TLS
	asks     *join.Client
	log      *slog.Logger
	listener net.Listener
	links    *link.Links
	head     *headlink.Client
	heads    *headList
	session  string          // the folder of the session
	ctx      context.Context // ends with close
	stop     context.CancelFunc
	work     sync.WaitGroup
	warning  string         // that the head is of another release; empty: it is of the same
	daemon   *daemon.Daemon // set by connect, before there are connections
	leaves   drain

	token atomic.Pointer[pki.Token] // that this machine has, as it was read last

	mu    sync.Mutex
	nodes map[uint32]record.Node // of the cluster, as the head has told
	dead  string                 // why the cluster has declared this node dead; empty: it has not

	// See keys.go.
	rekey     chan rekeying         // heads want this node to get a new certificate
	told      []uint32              // who was revoked, as a head has said last
	gone      map[uint32]bool       // those of them whose connections were ended
	headPeers map[uint32]*wire.Peer // the control streams with the heads
}

// joinCluster makes a new node a member: it listens for other nodes, and gets a number and a certificate from a head. The address
// of the node is found out if the options have none.
func joinCluster(ctx context.Context, c *MemberConfig, o *daemon.Options, release string) (m *member, err error) {
	token, err := c.Token.Read()
	if err != nil {
		return nil, process.NewBadConfig(err)
	}
	listener, err := process.Listen(c.Listen, false, "--node-manager-port")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			listener.Close()
		}
	}()
	asks := &join.Client{Heads: c.Heads, Token: token, Insecure: c.Insecure, Node: o.Node, Release: release}
	got, err := asks.Join(ctx)
	if err != nil {
		return nil, joinError(token, err)
	}
	m = &member{conf: c, identity: got.Identity, asks: asks, log: o.Log, warning: got.Warning, listener: listener,
		nodes: map[uint32]record.Node{}, gone: map[uint32]bool{}, rekey: make(chan rekeying, 2*linkmsg.MaxHeads), headPeers: map[uint32]*wire.Peer{}}
	m.token.Store(&token)
	m.heads, m.session = newHeadList(c.Socket, c.Heads, got.Heads), o.SessionDir
	if m.keys = got.Keys; got.Keys != nil {
		m.cert = process.NewCertificate(got.Keys, func(ctx context.Context) error { return m.renew(ctx, got.Keys) })
	}
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.leaves.ctx, m.leaves.log, m.leaves.work = m.ctx, m.log, &m.work
	o.Number, o.Network, o.Objects, o.NodeOf, o.HeadAway, o.HeadSilent, o.OtherReleases = got.Identity.Number, m, m, m.nodeOf, m.headAway, m.headSilent, m.otherReleases
	o.MostMemory, o.Heads = m.mostMemory, m.headInfos
	o.HeadBulk = func(ctx context.Context) (net.Conn, error) { return m.Bulk(ctx, m.heads.leading()) }
	if o.Address == "" {
		addressed(o, got.Address)
	}
	if o.Promise, err = promise.NewPage(); err != nil {
		return nil, err
	}
	m.head = headlink.NewClient(headlink.ClientOptions{Number: o.Number, ID: o.Node, Node: m, Placed: m, Now: alarm.Now, Promise: o.Promise, Log: o.Log})
	o.Cluster, o.Bundles = m.head, m.head
	direct.Prepare()
	m.links, err = link.Open(link.Config{
		Self: m.identity, TLS: m.cert.TLS(), Tokens: func() []pki.Token { return []pki.Token{token} }, Resolve: m.resolve,
		Fits: process.Fits(pki.RoleNode, m.heads.has), Admit: m.admit, Relay: m.relay, Serve: m.serve,
		Bulk:    func(from uint32, c net.Conn) { m.daemon.ServeObjects(from, c) },
		Control: m.control,
		Down: func(node uint32, why error) {
			m.log.Warn("the connection with another node is lost", "node", node, "why", why)
			if !m.heads.has(node) {
				m.daemon.NodeGone(node)
			}
		},
		Declared: func(by uint32, why string) {
			if m.heads.has(by) {
				m.isDead(why)
			}
		},
		Keep: m.heads.has, Session: process.LinkSession, Log: o.Log,
	})
	if err == nil && m.keys != nil {
		m.keys.OnDrop(m.links.Redial)
	}
	return m, err
}

// joinError names the token that was used, if the token may be what is wrong.
func joinError(token pki.Token, err error) error {
	if errors.Is(err, pki.ErrWrongToken) {
		return process.NewBadConfig(fmt.Errorf("join the cluster with the %v: %w", token, err))
	}
	return fmt.Errorf("join the cluster: %w", err)
}

// registerLimit is how long the first conversation with the head may take.
const registerLimit = 10 * time.Second

// connect begins to talk with the other processes of the cluster, and registers the node.
func (m *member) connect(ctx context.Context, d *daemon.Daemon, n record.Node) error {
	m.daemon = d
	go func() {
		if err := m.links.Listen(m.listener); err != nil {
			m.log.Error("the node takes no connections any more", "error", err)
		}
	}()
	go m.cert.Renew(m.ctx, m.log)
	m.work.Go(m.followHeads)
	m.work.Go(m.converse)
	go m.rekeys(m.ctx)
	n.Number = m.identity.Number
	n.Links = []string{net.JoinHostPort(n.Address, fmt.Sprint(m.listener.Addr().(*net.TCPAddr).Port))}
	ctx, cancel := context.WithTimeout(ctx, registerLimit)
	defer cancel()
	if err := m.head.RegisterNode(ctx, n); err != nil {
		return fmt.Errorf("register this node with the head: %w", err)
	}
	return nil
}

// EndedLimit is how long the warden tries to tell a head that its node has ended.
const EndedLimit = 2 * time.Second

// withdraw says that the node does not come. The head may have registered it although nobody knows.
func (m *member) withdraw() {
	ctx, cancel := context.WithTimeout(context.Background(), EndedLimit)
	defer cancel()
	if err := m.asks.Ended(ctx, "it could not start"); err != nil {
		m.log.Warn("the head does not know yet that this node could not start", "error", err)
	}
}

// leaveHead ends what waits for the head. The daemon is closed after it, and the other connections after the daemon.
func (m *member) leaveHead() {
	m.stop()
	m.head.Close()
}

// close ends all connections.
func (m *member) close() {
	m.leaveHead()
	m.links.Close()
	m.work.Wait()
	m.listener.Close()
}

// control is given each new session with another node.
func (m *member) control(from uint32, p *wire.Peer) wire.Handler {
	if !m.heads.has(from) {
		m.daemon.NodeConnected(from, p)
		return func(msg *wire.Message) { m.daemon.NodeMessage(from, msg) }
	}
	m.headConnected(from, p)
	return process.Handler(func(msg *wire.Message) bool { return m.keysMessage(msg) || m.headSays(msg) })
}

// resolve returns where a node is dialed.
func (m *member) resolve(node uint32) []string {
	if m.heads.has(node) {
		return m.heads.addresses(node)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes[node].Links
}

// serve takes a stream that another node has opened to a process of this one, or a connection that the head carries.
func (m *member) serve(from uint32, s *link.Stream) {
	if other, _, ok := relay.ParseTarget(s.Target()); ok && m.heads.has(from) {
		m.relayed(other, s)
		return
	}
	if len(s.Target()) != ids.OwnerSize {
		m.log.Warn("a stream of another node is refused: its target is no process", "node", from, "bytes", len(s.Target()))
		s.Close()
		return
	}
	m.daemon.ServePipe(s, from, ids.Owner(s.Target()))
}

// Open implements pipes.Network. It waits for nothing: a link needs no connection to open a stream.
func (m *member) Open(_ context.Context, target ids.Owner) (net.Conn, error) {
	k, err := m.links.To(target.Node())
	if err != nil {
		return nil, err
	}
	return k.Open(target[:])
}

// Control implements pulls.Network.
func (m *member) Control(node uint32) (*wire.Peer, error) {
	k, err := m.links.To(node)
	if err != nil {
		return nil, err
	}
	return k.Control()
}

// Bulk implements pulls.Network.
func (m *member) Bulk(ctx context.Context, node uint32) (net.Conn, error) {
	k, err := m.links.To(node)
	if err != nil {
		return nil, err
	}
	return k.Bulk(ctx)
}

// PlaceActor implements headlink.Node.
func (m *member) PlaceActor(a record.Actor, ticket uint64) { m.daemon.PlaceActor(a, ticket) }

// WithdrawActor implements headlink.Node.
func (m *member) WithdrawActor(i record.Instance, ticket uint64) { m.daemon.WithdrawActor(i, ticket) }

// StopActor implements headlink.Node.
func (m *member) StopActor(i record.Instance, drain bool) { m.daemon.StopActor(i, drain) }

// EndActor implements headlink.Node.
func (m *member) EndActor(i record.Instance) {
	m.daemon.EndActor(i, func() { m.head.ActorExited(i, record.Cause{Reason: record.Killed}) })
}

// PrepareBundles implements headlink.Bundler.
func (m *member) PrepareBundles(job ids.Job, b sched.Bundles) {
	m.daemon.Event(func(s *sched.Machine) { s.PrepareBundles(job, b) })
}

// OpenBundles implements headlink.Bundler.
func (m *member) OpenBundles(group ids.Group, epoch uint64) {
	m.daemon.Event(func(s *sched.Machine) { s.CommitBundles(group, epoch) })
}

// UndoBundles implements headlink.Bundler.
func (m *member) UndoBundles(group ids.Group, ticket uint64) {
	m.daemon.Event(func(s *sched.Machine) { s.UnprepareBundles(group, ticket) })
}

// DropBundles implements headlink.Bundler.
func (m *member) DropBundles(group ids.Group) {
	m.daemon.Event(func(s *sched.Machine) { s.DropBundles(group) })
}

// KeptBundles implements headlink.Bundler.
func (m *member) KeptBundles() (list []sched.KeptBundles) {
	m.daemon.Event(func(s *sched.Machine) { list = s.KeptBundles() })
	return list
}

// Actors implements headlink.Node.
func (m *member) Actors() []record.Instance { return m.daemon.Actors() }

// LeaseOffered implements headlink.Placed.
func (m *member) LeaseOffered(o place.Offer) { m.daemon.LeaseOffered(o) }

// WantInfeasible implements headlink.Placed.
func (m *member) WantInfeasible(i place.Infeasible) { m.daemon.WantInfeasible(i) }

// NodeIs implements headlink.Node.
func (m *member) NodeIs(n record.Node) {
	if n.Number == 0 {
		return
	}
	before, others := m.keep(n)
	m.daemon.Company(others)
	if n.Number == m.identity.Number && n.Drain != nil && n.State != record.NodeDead {
		m.leaves.begin(n.Drain, m.daemon)
	}
	switch {
	case n.State != record.NodeDead || before.State == record.NodeDead:
	case n.Number == m.identity.Number:
		m.isDead(n.Reason)
	default:
		m.links.Dead(n.Number)
		m.daemon.NodeGone(n.Number) // also when nothing connects the two
	}
}

// otherReleases is daemon.Options.OtherReleases.
func (m *member) otherReleases() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return releases.Idle(m.nodes)
}

// nodeOf returns what the head has told of a node.
func (m *member) nodeOf(number uint32) (record.Node, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, known := m.nodes[number]
	return n, known
}

// mostMemory returns the most of the resource memory that one living node has.
func (m *member) mostMemory() (most int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.nodes {
		if n.State == record.NodeAlive {
			most = max(most, n.Resources["memory"])
		}
	}
	return most
}

// keep notes the record of a node, and returns the one before. It reports whether nodes besides this one are alive.
func (m *member) keep(n record.Node) (before record.Node, others bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before = m.nodes[n.Number]
	if n.Wire == 0 { // a head that began to lead a moment ago has not heard of that node yet, and a node's release never changes
		n.Wire = before.Wire
	}
	m.nodes[n.Number] = n
	for number, o := range m.nodes {
		others = others || number != m.identity.Number && o.State == record.NodeAlive
	}
	return before, others
}

// isDead ends the node, because the cluster has declared it dead: others do its work by now. The warden then has it join again.
func (m *member) isDead(why string) {
	if planted.Strikes(planted.DeafDead) || !m.noteDead(why) {
		return
	}
	m.log.Error("the cluster has declared this node dead: ending all its processes, to join again as a new node", "reason", why)
	go m.daemon.EndBecause("the cluster has declared this node dead (" + why + "), so everything that ran here was ended. " +
		"The node joins the cluster again by itself: start the program again")
}

// noteDead notes why this node is dead, and reports whether that was new.
func (m *member) noteDead(why string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead != "" {
		return false
	}
	m.dead = why
	return true
}

// declared returns the error of a node that was declared dead, nil of any other.
func (m *member) declared() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead == "" {
		return nil
	}
	return &process.DeclaredDeadError{Reason: m.dead}
}

// JobIs implements headlink.Node. What a job of another node has here ends with the job.
func (m *member) JobIs(j record.Job) {
	switch {
	case j.Over():
		m.daemon.JobEnded(j.ID)
	case j.State == record.JobRunning:
		m.daemon.JobRuns(j.ID, j.Driver.Node())
	}
}
