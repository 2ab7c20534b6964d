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
	// NodeGone declares a node dead of which no process runs any more; once more is no error.
	NodeGone(ctx context.Context, id ids.Node, reason string, atMs int64) error
}

// Server answers processes that join, as a head.
type Server struct {
	Self    pki.Identity       // of the head: nodes get its cluster and generation
	Tokens  func() []pki.Token // those of the cluster
	State   State
	Release string // of this program
	Log     *slog.Logger

	// Sign returns a certificate and the authorities of the cluster; none without TLS. *trust.Keeper has it, and Admin.
	Sign func(request []byte, id pki.Identity) (cert []byte, authorities [][]byte, err error)
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
	if q.Kind == linkmsg.JoinAdmin {
		return s.admin(ctx, who, &ask, &q, &joined)
	}
	if q.Node == (ids.Node{}) {
		return a, fault.New(fault.BadRequest, "the request of %s names no node", who)
	}
	if text := linkmsg.OtherRelease("the node at "+who, q.Release, s.Release); text != "" && q.Kind == linkmsg.JoinNode {
		s.Log.Warn(text, "node", q.Node)
	}
	if q.Kind == linkmsg.JoinEnded {
		err = s.ended(ctx, &q)
	} else {
		var id pki.Identity
		if id, err = s.identity(ctx, &q); err == nil {
			joined.Identity = id.String()
			a.Cert, a.Authorities, err = s.Sign(ask.Request, id)
		}
	}
	if err == nil {
		a.Body, err = linkmsg.Encode("the answer to "+who, &joined)
	}
	return a, err
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
	default:
		return id, fault.New(fault.BadRequest, "this head does not know the request %.40q", q.Kind)
	}
	return id, nil
}

// admin does what somebody asks for who looks after the keys.
func (s *Server) admin(ctx context.Context, who string, ask *pki.Ask, q *linkmsg.Join, joined *linkmsg.Joined) (a pki.Answer, err error) {
	if s.Admin == nil {
		return a, fault.New(fault.BadRequest, "this head does not know the request %.40q", q.Kind)
	}
	s.Log.Info("somebody looks after the keys", "from", who, "request", string(q.Admin.Op))
	if joined.Admin, err = s.Admin(ctx, ask.Proved, q.Admin); err == nil {
		a.Body, err = linkmsg.Encode("the answer to "+who, joined)
	}
	return a, err
}

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
