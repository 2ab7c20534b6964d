package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/record"
)

// State is what a head knows of the nodes. raftstate.Node has these methods.
type State interface {
	// NodeNumber gives a node a number that no other node has had or gets.
	NodeNumber(ctx context.Context, id ids.Node) (uint32, error)
	Node(id ids.Node) (record.Node, bool)
	// Fresh returns when this head shows all that was committed before.
	Fresh(ctx context.Context) error
	// NodeGone declares a node dead of which no process runs any more; once more is no error.
	NodeGone(ctx context.Context, id ids.Node, reason string, atMs int64) error
}

// Heads are the heads of the cluster. headgroup.Group has these methods.
type Heads interface {
	// Heads returns what this head knows of the heads, and Status what it knows besides if it leads.
	Heads() linkmsg.Heads
	Status() (list []linkmsg.HeadStatus, leads bool)
	// AddHead notes a further head, and returns its number: the one that it has had before, or a new one.
	AddHead(ctx context.Context, at linkmsg.HeadAt) (uint32, error)
	// Has reports whether a head of that name and number belongs to the cluster. The error says that it cannot be known now.
	Has(ctx context.Context, at linkmsg.HeadAt) (bool, error)
	// Change does something with a head. It reports false, without an error, if only the head that leads can do it.
	Change(ctx context.Context, what linkmsg.HeadChange, number uint32, given bool) (done bool, err error)
}

// Server answers processes that join, as a head.
type Server struct {
	Self    pki.Identity       // of the head: nodes get its cluster and generation
	Tokens  func() []pki.Token // those of the cluster
	State   State
	Heads   Heads
	Release string // of this program
	Log     *slog.Logger

	// Sign returns a certificate and the authorities of the cluster; none without TLS. *trust.Keeper has it, and Sealed and Admin.
	Sign func(request []byte, id pki.Identity) (cert []byte, authorities [][]byte, err error)
	// Counts returns an error if a token counts no more, by what this head shows now. Nil: no token is ever ended. *trust.Keeper has it.
	Counts func(pki.Token) error
	// Sealed returns the keys of the cluster, sealed with its tokens, for a further head.
	Sealed func() ([]byte, error)
	// Admin does what somebody asks for who looks after the keys. Nil: it is refused.
	Admin func(ctx context.Context, proved pki.Token, q linkmsg.Admin) (linkmsg.AdminAnswer, error)
}

// Serve speaks with one process and closes the connection. It fits link.Config.Join.
func (s *Server) Serve(ctx context.Context, from *pki.Stranger, c pki.Channel) {
	defer from.Close()
	err := pki.JoinServer(ctx, c, s.Tokens(), func(ctx context.Context, ask pki.Ask) (pki.Answer, error) {
		if err := from.Known(); err != nil {
			return pki.Answer{}, err
		}
		return s.decide(ctx, from.RemoteAddr().String(), ask)
	})
	if err != nil {
		s.Log.Warn("a process was not let in", "from", from.RemoteAddr().String(), "why", err)
	}
}

// decide answers a process that has proved that it knows the token.
func (s *Server) decide(ctx context.Context, who string, ask pki.Ask) (a pki.Answer, err error) {
	var q linkmsg.Join
	if err := linkmsg.Decode("the request of "+who, ask.Body, pki.MaxFrame, &q); err != nil {
		return a, err
	}
	if err := linkmsg.CheckRelease("the node at "+who, q.Release, s.Release, q.Version, q.MinVersion); err != nil {
		return a, err
	}
	joined := linkmsg.Joined{Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Release: s.Release}
	aboutHeads := q.Kind == linkmsg.JoinHead || q.Kind == linkmsg.JoinHeads || q.Kind == linkmsg.JoinKeys || q.Kind == linkmsg.JoinChange || q.Kind == linkmsg.JoinAdmin
	if q.Node == (ids.Node{}) && !aboutHeads {
		return a, fault.New(fault.BadRequest, "the request of %s names no node", who)
	}
	if text := linkmsg.OtherRelease("the node at "+who, q.Release, s.Release); text != "" && q.Kind == linkmsg.JoinNode {
		s.Log.Warn(text, "node", q.Node)
	}
	switch q.Kind {
	case linkmsg.JoinAdmin:
		knowing, cancel := context.WithTimeout(ctx, hasLimit)
		_ = s.State.Fresh(knowing) // without a majority it is told what this head knows
		cancel()
		err = s.admin(ctx, who, &ask, &q, &joined)
	case linkmsg.JoinEnded:
		err = s.ended(ctx, &q)
	case linkmsg.JoinHeads:
		var leads bool
		joined.Status, leads = s.Heads.Status()
		joined.NotLeader = !leads
	case linkmsg.JoinKeys:
		joined.Sealed, joined.Removed, err = s.keysFor(ctx, who, &q)
	case linkmsg.JoinChange:
		var done bool
		done, err = s.Heads.Change(ctx, q.Change, q.Head.Number, q.Given)
		joined.NotLeader = !done
	default:
		var id pki.Identity
		if err = s.counts(ctx, ask.Proved); err == nil {
			id, err = s.identity(ctx, &q)
		}
		if err == nil {
			joined.Identity = id.String()
			a.Cert, a.Authorities, err = s.Sign(ask.Request, id)
		}
		if err == nil && q.Kind == linkmsg.JoinHead {
			joined.Sealed, err = s.Sealed()
		}
	}
	joined.Heads = s.Heads.Heads()
	if err == nil {
		a.Body, err = linkmsg.Encode("the answer to "+who, &joined)
	}
	return a, err
}

// counts returns an error if the token that was proved counts no more. A head that is behind the others would still take a token that was ended.
func (s *Server) counts(ctx context.Context, proved pki.Token) error {
	if s.Counts == nil {
		return nil
	}
	if err := s.State.Fresh(ctx); err != nil {
		return fmt.Errorf("this head cannot tell now whether the token counts: %w", err)
	}
	return s.Counts(proved)
}

// hasLimit bounds how long a head that asks for keys waits until this head knows whether the cluster has it. Without a majority nobody knows.
const hasLimit = 2 * time.Second

// keysFor returns the present keys for a head of this cluster that was away, or that the cluster has no such head any more.
func (s *Server) keysFor(ctx context.Context, who string, q *linkmsg.Join) (sealed []byte, removed bool, err error) {
	if string(q.Of) != string(s.Self.Cluster[:]) {
		return nil, false, fault.New(fault.BadRequest, "the head at %s belongs to the cluster %.40x, and this is the cluster %s", who, q.Of, s.Self.Cluster)
	}
	knowing, cancel := context.WithTimeout(ctx, hasLimit)
	defer cancel()
	if has, err := s.Heads.Has(knowing, q.Head); err != nil || !has {
		return nil, err == nil, err
	}
	s.Log.Info("a head that was away gets the present keys", "head", q.Head.Number, "from", who)
	sealed, err = s.Sealed()
	return sealed, false, err
}

// identity returns who the node is, or becomes.
func (s *Server) identity(ctx context.Context, q *linkmsg.Join) (pki.Identity, error) {
	id := pki.Identity{Cluster: s.Self.Cluster, Generation: s.Self.Generation, Role: pki.RoleNode}
	old, known := s.State.Node(q.Node)
	switch q.Kind {
	case linkmsg.JoinNode:
		if known {
			return id, fault.New(fault.BadRequest, "node %s has joined already", q.Node)
		}
		var err error
		if id.Number, err = s.State.NodeNumber(ctx, q.Node); err != nil {
			return id, fmt.Errorf("a number for node %s: %w", q.Node, err)
		}
	case linkmsg.JoinRenew:
		if !known || old.State == record.NodeDead || old.Number == 0 {
			return id, fault.New(fault.BadRequest, "node %s is not alive in this cluster, so it gets no new certificate", q.Node)
		}
		id.Number = old.Number
	case linkmsg.JoinHead:
		if err := linkmsg.CheckHeads([]linkmsg.HeadAt{q.Head}); err != nil {
			return id, fault.New(fault.BadRequest, "the head that wants to join: %v", err)
		}
		var err error
		id.Role = pki.RoleHead
		if id.Number, err = s.Heads.AddHead(ctx, q.Head); err != nil {
			return id, fmt.Errorf("add a head: %w", err)
		}
	default:
		return id, fault.New(fault.BadRequest, "this head does not know the request %.40q", q.Kind)
	}
	return id, nil
}

// admin does what somebody asks for who looks after the keys.
func (s *Server) admin(ctx context.Context, who string, ask *pki.Ask, q *linkmsg.Join, joined *linkmsg.Joined) (err error) {
	if s.Admin == nil {
		return fault.New(fault.BadRequest, "this head does not know the request %.40q", q.Kind)
	}
	s.Log.Info("somebody looks after the keys", "from", who, "request", string(q.Admin.Op))
	joined.Admin, err = s.Admin(ctx, ask.Proved, q.Admin)
	if errors.Is(err, ErrNotLeader) {
		joined.NotLeader, err = true, nil
	}
	return err
}

// ErrNotLeader is the error of Admin on a head that does not lead.
var ErrNotLeader = errors.New("only the head that leads changes the keys")

// ended takes a warden's word that its node is gone. A node that has never registered is none.
func (s *Server) ended(ctx context.Context, q *linkmsg.Join) error {
	reason := q.Reason
	if reason == "" {
		reason = "it has ended"
	}
	err := s.State.NodeGone(ctx, q.Node, cut(reason), time.Now().UnixMilli())
	if errors.Is(err, record.ErrNotFound) {
		return nil
	}
	return err
}
