package headgroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// forwardLimit is how long the answer to a proposal is waited for. Then it is proposed again, and applied once.
const forwardLimit = 10 * time.Second

// What has become of a proposal at the leader.
const (
	forwardDone      = 0
	forwardNotLeader = 1
	forwardUnknown   = 2
	forwardFailed    = 3 // it may have been applied
)

type forwarded struct {
	Outcome int    `msgpack:"o"`
	Result  []byte `msgpack:"r"`
	Text    string `msgpack:"t"`
}

// Forward implements raftstate.Forwarder. It waits no longer when another head leads.
func (g *Group) Forward(ctx context.Context, id, _ string, command []byte) ([]byte, error) {
	number, known := g.o.Book.Number(id)
	if !known {
		return nil, fmt.Errorf("head %s: nobody knows where it is", id)
	}
	p, err := g.o.Control(number)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, forwardLimit)
	defer cancel()
	changed := g.state.LeaderChanged()
	if g.state.Leader() != id {
		return nil, raftstate.ErrNotLeader
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-changed:
			cancel()
		case <-stop:
		}
	}()
	var f forwarded
	if err := p.Call(ctx, linkmsg.TForward, command, &f); err != nil {
		return nil, fmt.Errorf("head %d: %w", number, err)
	}
	switch f.Outcome {
	case forwardDone:
		return f.Result, nil
	case forwardNotLeader:
		return nil, fmt.Errorf("head %d: %w", number, raftstate.ErrNotLeader)
	case forwardUnknown:
		return nil, fmt.Errorf("head %d: %w: %s", number, raftstate.ErrUnknownCommand, f.Text)
	}
	return nil, fmt.Errorf("head %d: %s", number, f.Text)
}

// Handle takes a message of another head. It reports false for one that heads do not say to each other.
func (g *Group) Handle(from uint32, m *wire.Message) bool {
	switch m.Type {
	case linkmsg.TForward:
		g.goWork(func() { g.propose(m) })
	case linkmsg.TMember:
		g.goWork(func() { _ = m.Reply(g.member()) })
	case linkmsg.THeads:
		return g.heard(from, m)
	default:
		return false
	}
	return true
}

// heard notes whom another head follows, and where it says that it is: after a move it may be unable to write that into the state before the others find it.
func (g *Group) heard(from uint32, m *wire.Message) bool {
	var h linkmsg.Heads
	err := linkmsg.Decode("who leads", m.Body, linkmsg.MaxHello*linkmsg.MaxHeads, &h)
	if err == nil {
		err = h.Check()
	}
	if err != nil {
		g.o.Log.Error("a message of another head cannot be understood: the connection is closed", "head", from, "error", err)
		return false
	}
	g.said.note(from, h)
	for _, at := range h.All {
		if at.Number == from && g.o.Book.Moved(from, at.Addresses) {
			g.o.Log.Info("another head has moved", "head", from, "to", at.Addresses)
		}
	}
	return true
}

// propose carries out a proposal of another head.
func (g *Group) propose(m *wire.Message) {
	var command []byte
	if err := m.Decode(&command); err != nil {
		_ = m.Fail(err)
		return
	}
	ctx, cancel := context.WithTimeout(g.ctx, forwardLimit)
	defer cancel()
	result, err := g.state.Forwarded(ctx, command)
	f := forwarded{Result: result}
	switch {
	case err == nil:
	case errors.Is(err, raftstate.ErrNotLeader):
		f.Outcome = forwardNotLeader
	case errors.Is(err, raftstate.ErrUnknownCommand):
		f.Outcome, f.Text = forwardUnknown, err.Error()
	default:
		f.Outcome, f.Text = forwardFailed, err.Error()
	}
	_ = m.Reply(&f)
}

func (g *Group) member() *linkmsg.Member {
	s := &linkmsg.Member{Keys: g.o.Keys()}
	s.Stored, s.Applied = g.state.Indexes()
	if g.o.Lacks != nil {
		s.Lacks = g.o.Lacks()
	}
	return s
}
