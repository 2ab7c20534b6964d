package worker

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/inside"
)

// server takes the calls of this process.
type server struct {
	reg      *registry
	c        *client.Client
	in       inside.Session
	public   *core.Session
	assigned *assigned
	program  string
	address  string // of the machine
	job      string
	node     string
	wake     chan struct{} // a cancellation was asked for
	worked   atomic.Bool   // since memory was given back last

	mu      sync.Mutex
	running map[ids.Task]context.CancelFunc

	// Of tasks, and so of one goroutine.
	found map[[16]byte]*callable
	calls map[[16]byte]int // how often each was called, of those with a limit
	label string           // what output was labelled with last

	host *host // of an actor; nil before
}

func newServer(r *registry) *server {
	return &server{
		reg: r, assigned: newAssigned(), program: os.Args[0], wake: make(chan struct{}, 1),
		running: map[ids.Task]context.CancelFunc{}, found: map[[16]byte]*callable{}, calls: map[[16]byte]int{},
	}
}

func (s *server) join(c *client.Client, in inside.Session) {
	s.c, s.in, s.public = c, in, in.Public().(*core.Session)
	info := c.Info()
	s.address, s.job, s.node = info.NodeAddr, info.Job.String(), info.Node.String()
	go s.cancels()
}

// interrupt says that a cancellation was asked for. The session's mutex is held.
func (s *server) interrupt() {
	select {
	case s.wake <- struct{}{}:
	default: // it is to be looked at already
	}
}

// cancels ends the contexts of calls that were cancelled.
func (s *server) cancels() {
	for range s.wake {
		for {
			id, ok := s.c.CurrentCancelled()
			if !ok {
				break
			}
			s.cancel(id)
		}
	}
}

// cancel ends the context of a running call.
func (s *server) cancel(id ids.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[id]; cancel != nil {
		cancel()
	}
}

// serve takes tasks until the daemon ends the worker, and the process with it, or makes it an actor. It returns an error only.
func (s *server) serve() error {
	for {
		it, err := s.next("")
		if err != nil {
			return err
		}
		switch it.Kind {
		case client.ItemTask:
			s.task(it)
		case client.ItemActor:
			return s.becomeActor(it)
		case client.ItemAssign:
			if err := s.assign(it.Blob); err != nil {
				return err
			}
		case client.ItemForget:
			s.forget([16]byte(it.Blob))
		case client.ItemExit:
			s.leave(it.Reason)
		}
	}
}

// idleFor is how long a worker waits for work until it gives back what its calls have left.
const idleFor = 200 * time.Millisecond

// next waits for something to do. What the last calls held (references, actors, arrays) goes when the garbage collector finds that, which
// would not run in a process that does nothing: others wait for that, so it runs when there is no work for a moment.
func (s *server) next(group string) (*client.Item, error) {
	if it, err := s.c.NextTask(idleFor, group); it != nil || err != nil {
		s.worked.Store(true)
		return it, err
	}
	if s.worked.CompareAndSwap(true, false) {
		debug.FreeOSMemory()
	}
	for {
		if it, err := s.c.NextTask(-1, group); it != nil || err != nil {
			s.worked.Store(true)
			return it, err
		}
	}
}

// assign takes what a lease gives.
func (s *server) assign(blob []byte) error {
	var a struct {
		Resources map[string]int64    `msgpack:"resources"`
		Devices   map[string][]string `msgpack:"devices"`
		Env       map[string]string   `msgpack:"env"`
		Strategy  string              `msgpack:"strategy"`
	}
	if err := msgpack.Unmarshal(blob, &a); err != nil {
		return fmt.Errorf("what the lease gives: %w", err)
	}
	s.assigned.apply(a.Resources, a.Devices, a.Env)
	s.in.Works(a.Strategy)
	return nil
}

// forget lets go of a function that nobody calls any more.
func (s *server) forget(fid [16]byte) {
	delete(s.found, fid)
	delete(s.calls, fid)
	s.c.Unload(fid)
}

// leave ends the process as it was meant to: answers are sent first.
func (s *server) leave(reason string) {
	_ = s.c.Exiting(reason)
	os.Exit(0)
}

// named lets what is written from now on be labelled with a name.
func (s *server) named(name string) {
	if s.label == name {
		return
	}
	s.label = name
	line := []byte("\x1f:name:" + name + "\n")
	_, _ = os.Stdout.Write(line)
	_, _ = os.Stderr.Write(line)
}
