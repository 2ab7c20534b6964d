package joblogs

import (
	"context"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// Network leads to the daemons of other nodes.
type Network interface {
	// Control returns the control connection with a node. It does not wait.
	Control(node uint32) (*wire.Peer, error)
}

// Options are what a Logs needs of its node.
type Options struct {
	Node    uint32
	Address string  // of this node, as drivers of other nodes show it
	Network Network // nil: there are no other nodes
	Ended   func(ids.Job)
	Refused func(error) // notes that a message of another node makes no sense
}

// DrainLimit is how long the end of a job waits for the output of its workers.
const DrainLimit = 500 * time.Millisecond

// flushLeast is how long the end of a job gives a sink, also when the workers have taken the whole DrainLimit.
const flushLeast = 20 * time.Millisecond

// Logs is the output of jobs that crosses the border of a node.
type Logs struct {
	o    Options
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	runs sync.WaitGroup // goroutines

	mu      sync.Mutex
	homes   map[ids.Job]uint32        // the nodes of the drivers of running jobs, without those of this node
	senders map[*workers.Sink]*sender // of jobs whose drivers are elsewhere
	drivers map[ids.Job]*driver       // of this node
	closed  bool
}

// New returns a Logs without jobs.
func New(o Options) *Logs {
	l := &Logs{o: o, homes: make(map[ids.Job]uint32), senders: make(map[*workers.Sink]*sender), drivers: make(map[ids.Job]*driver)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Close drops what is not sent, and waits for the goroutines.
func (l *Logs) Close() {
	l.stop()
	for _, s := range l.close() {
		s.sink.Close()
		s.end()
	}
	l.runs.Wait()
}

func (l *Logs) close() (open []*sender) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, s := range l.senders {
		open = append(open, s)
	}
	return open
}

// Sizes returns the numbers of entries of the tables.
func (l *Logs) Sizes() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return map[string]int{"log_senders": len(l.senders), "log_drivers": len(l.drivers)}
}

// ask calls another node, and done with its answer, on another goroutine. It does not wait.
func (l *Logs) ask(node uint32, t wire.Type, body any, done func(*wire.Message, error)) {
	b, err := linkmsg.Encode(t.String(), body)
	if err != nil {
		go done(nil, err)
		return
	}
	peer, err := l.o.Network.Control(node)
	if err != nil {
		go done(nil, err)
		return
	}
	peer.Go(t, b, done)
}

// goes runs a function on a goroutine that Close waits for. After Close it does nothing.
func (l *Logs) goes(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.runs.Add(1)
	go func() {
		defer l.runs.Done()
		f()
	}()
}

// drain waits until workers have written all they will, asked is closed (if it is not nil) and the sink has sent all of
// it. It waits until DrainLimit is over or ctx ends, and then closes the sink, if there is one.
func drain(ctx context.Context, sink *workers.Sink, outputs []*workers.Output, asked <-chan struct{}) {
	limit := time.Now().Add(DrainLimit)
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	wait := func(c <-chan struct{}) {
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
	for _, o := range outputs {
		wait(o.Done())
	}
	if asked != nil {
		wait(asked)
	}
	if sink != nil {
		sink.Flush(max(time.Until(limit), flushLeast))
		sink.Close()
	}
}
