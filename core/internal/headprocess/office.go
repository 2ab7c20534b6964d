package headprocess

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/alarm"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// leading is what a head has while it leads: the head role, and the conversations with the nodes. Each time in which it leads has a new one, as a new
// process of the head would: what nodes have not been told, they are told again, and what they have asked, they ask again.
type leading struct {
	reign  *raftstate.Reign
	head   *head.Head
	server *headlink.Server
	stop   context.CancelFunc
	ends   sync.WaitGroup
}

// lead begins to lead.
func lead(c *Config, reign *raftstate.Reign, group *headgroup.Group, log *slog.Logger) (_ *leading, err error) {
	ctx, stop := context.WithCancel(context.Background())
	l := &leading{reign: reign, stop: stop, server: headlink.NewServer(log)}
	defer func() {
		if err != nil {
			l.end()
		}
	}()
	timing, err := timingOf(reign.Member())
	if err != nil {
		return nil, err
	}
	if err := notePromise(ctx, reign, timing); err != nil {
		return nil, err
	}
	l.server.Records(reign.Member().Node)
	l.head, err = head.Open(head.Options{State: reign, Placer: &nodePlacer{ctx: ctx, reign: reign, server: l.server, state: reign.Member(), log: log}, Groups: l.server, Log: log})
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	l.server.Judge(headlink.Judge{Timing: timing, Now: alarm.Now, State: reign, Exclusive: exclusiveIn(reign.Member())})
	l.server.Serve(l.head)
	l.ends.Go(func() { group.Settle(ctx, reign) })
	l.ends.Go(func() {
		if err := settlePromises(ctx, reign, timing); err != nil && ctx.Err() == nil && reigns(reign) {
			log.Warn("what was promised to nodes with a longer node_timeout is not forgotten: exclusive actors may wait longer than necessary for their restart", "error", err)
		}
	})
	follow := func(what func() error) {
		l.ends.Go(func() {
			if err := what(); ctx.Err() == nil && reigns(reign) {
				log.Error("the head does not follow its state any more", "error", err)
			}
		})
	}
	follow(func() error { return l.server.Follow(ctx, reign) })
	follow(func() error {
		return eachDeadNode(ctx, reign.Member(), func(n record.Node) { l.server.Forget(n.Number) })
	})
	return l, nil
}

func reigns(r *raftstate.Reign) bool {
	select {
	case <-r.Ended():
		return false
	default:
		return true
	}
}

// end ends all conversations. Nodes then look for the head that leads now.
func (l *leading) end() {
	l.stop()
	l.server.Close()
	if l.head != nil {
		l.head.Close()
	}
	l.ends.Wait()
}

// converseWait is how long a node that wants to speak with a head waits until the head leads.
const converseWait = 5 * time.Second

// office is what a head is to the nodes now.
type office struct {
	mu      sync.Mutex
	now     *leading // nil: it does not lead
	changed chan struct{}
}

func newOffice() *office { return &office{changed: make(chan struct{})} }

func (o *office) set(l *leading) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = l
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *office) get() (*leading, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now, o.changed
}

// converse serves a stream on which a node wants to speak with the head that leads. It waits a little for this head to lead, since
// nodes may hear of it early, and returns when the conversation has ended.
func (o *office) converse(ctx context.Context, from uint32, s *link.Stream) {
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, converseWait)
	defer cancel()
	for {
		l, changed := o.get()
		if l != nil {
			p := wire.NewPeer(s, process.Handler(l.server.Handle), nil)
			l.server.Connected(from, p)
			p.Start()
			<-p.Done()
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// isConversation reports whether a node has opened the stream to speak with the head.
func isConversation(s *link.Stream) bool { return string(s.Target()) == linkmsg.Conversation }

// rule leads whenever Raft says so, until the context ends. An error means that this head cannot lead.
func (o *office) rule(ctx context.Context, c *Config, state *raftstate.Node, group *headgroup.Group, log *slog.Logger) error {
	for {
		reign, err := state.Lead(ctx)
		if err != nil {
			return nil // the process ends, for this reason or another one
		}
		log.Info("this head leads", "term", reign.Term())
		l, err := lead(c, reign, group, log)
		if err != nil {
			if !reigns(reign) {
				continue
			}
			return err
		}
		o.set(l)
		group.Serves(reign.Term())
		select {
		case <-reign.Ended():
			log.Info("this head leads no more", "term", reign.Term())
		case <-ctx.Done():
		}
		group.Serves(0)
		o.set(nil)
		l.end()
		if ctx.Err() != nil {
			return nil
		}
	}
}
