package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/objects"
	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// Daemon is the node role of one machine. See doc.go.
type Daemon struct {
	o          Options
	log        *slog.Logger
	socket     *net.UnixListener
	began      time.Time
	complaints complaints // of what is refused

	headSet chan struct{} // closed when head is set
	head    Head
	stop    chan struct{} // closed by Stop
	stopped sync.Once
	served  sync.WaitGroup

	mu          sync.Mutex
	m           *sched.Machine
	timer       *time.Timer
	restTimer   *time.Timer // see rest.go
	resting     time.Duration
	collections uint64 // of garbage, by the last rest
	objects     *objects.Store
	clients     map[sched.ClientID]*client
	owners      map[ids.Owner]*client
	table       *workers.Table
	workers     map[sched.WorkerID]*worker // those of the table
	jobs        map[ids.Job]*job
	actors      map[ids.Actor]*actor
	wills       map[string]*client // workers that hand over, by token
	lastClient  sched.ClientID
	closing     bool
	ended       []wire.WorkerRow // the workers that ended last

	memory      *pressure.MemoryWatch
	gpus        *pressure.GPUWatch
	memoryKnown chan struct{} // closed when the scheduler knows how much memory the GPUs have

	lives map[sched.ActorID]*life // incarnations of actors that may restart
	falls map[ids.Actor]int       // how often in a row an actor's worker died before its constructor had ended
}

// Open makes the node's session directory, arena and socket. Nothing is
// accepted before Serve.
func Open(o Options) (*Daemon, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	ledger, err := resource.NewLedger(o.Totals, o.Devices.Devices())
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{o.SessionDir, o.SessionDir + "/p", o.SessionDir + "/logs"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("session directory: %w", err)
		}
	}
	path := filepath.Join(o.SessionDir, "d.sock")
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	d := &Daemon{
		o: o, log: o.Log, socket: socket,
		began:   time.Now(),
		headSet: make(chan struct{}), memoryKnown: make(chan struct{}),
		stop: make(chan struct{}),
		m: sched.New(sched.Options{
			Ledger: ledger, MaxIdle: o.CPUs, MaxStarts: min(2*o.CPUs, maxStarts), WaitForFit: o.WaitForFit || o.CanGrow,
		}),
		clients: make(map[sched.ClientID]*client),
		owners:  make(map[ids.Owner]*client),
		workers: make(map[sched.WorkerID]*worker),
		jobs:    make(map[ids.Job]*job),
		actors:  make(map[ids.Actor]*actor),
		wills:   make(map[string]*client),
		lives:   make(map[sched.ActorID]*life),
		falls:   make(map[ids.Actor]int),
	}
	d.openWatches()
	d.objects, err = objects.Open(objects.Options{
		Bytes: o.ArenaBytes, Dir: o.SessionDir, Spill: o.Spill, Lock: &d.mu, Notify: storeEvents{d}, Log: d.log,
	})
	if err != nil {
		socket.Close()
		return nil, err
	}
	d.timer = time.AfterFunc(time.Hour, d.tick)
	d.timer.Stop()
	d.table = workers.Open(workers.Options{SessionDir: o.SessionDir, Interpreter: o.Interpreter, Lock: &d.mu, Log: d.log})
	if err := d.learnMemory(); err != nil {
		socket.Close()
		d.table.Discard()
		d.objects.Close()
		return nil, err
	}
	go d.memory.Run()
	return d, nil
}

// maxStarts bounds the workers being started on large machines. A zygote owes at
// most that many forks, and those that have been given up since.
const maxStarts = workers.MaxOrders / 8

// SetHead wires the head role. Requests that need it wait until then.
func (d *Daemon) SetHead(h Head) {
	d.head = h
	close(d.headSet)
}

// Serve accepts connections until Close.
func (d *Daemon) Serve() {
	d.served.Add(1)
	go d.accept()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resting = soonestRest
	d.restTimer = time.AfterFunc(d.resting, d.rest)
}

// Stop asks for the end; Stopping is closed then. Close does it.
func (d *Daemon) Stop() { d.stopped.Do(func() { close(d.stop) }) }

// Stopping is closed when someone asked the daemon to end.
func (d *Daemon) Stopping() <-chan struct{} { return d.stop }

// closeLimit bounds how long Close kills what does not want to die.
const closeLimit = time.Second

// Close ends everything that the daemon started and removes what it made, the
// session directory's logs excepted when keepLogs is set. The head must have
// been closed before.
func (d *Daemon) Close(keepLogs bool) {
	d.Stop()
	d.mu.Lock()
	d.closing = true
	d.gpus.Close()
	d.objects.Stop()
	d.timer.Stop()
	if d.restTimer != nil {
		d.restTimer.Stop()
	}
	var peers []*wire.Peer
	for _, c := range d.clients {
		peers = append(peers, c.peer)
	}
	d.table.Stop()
	d.mu.Unlock()
	d.socket.Close()
	d.served.Wait()
	for _, p := range peers {
		p.Close()
	}
	if left := d.table.Close(closeLimit); left > 0 {
		d.log.Warn("processes do not end", "left", left)
	}
	d.objects.Close()
	if keepLogs {
		os.Remove(filepath.Join(d.o.SessionDir, "d.sock"))
		os.RemoveAll(filepath.Join(d.o.SessionDir, "p"))
		return
	}
	// What a dead worker had written may still be on its way to a file.
	var err error
	for range 20 {
		if err = os.RemoveAll(d.o.SessionDir); err == nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	d.log.Warn("session directory not removed", "error", err)
}

// SendStore sends a text and a descriptor of the store's memory through a socket.
func (d *Daemon) SendStore(socket int, text []byte) error { return d.objects.SendTo(socket, text) }

// now is the machine's time.
func (d *Daemon) now() time.Duration { return time.Since(d.began) }

// event passes an event to the scheduler and does what it orders; mu held.
func (d *Daemon) event(f func(m *sched.Machine)) { d.eventOfEnd(workers.End{}, f) }

// eventOfEnd is event for the end of a worker. The scheduler then says which leases
// the worker had, and their holders are told how it ended; mu held.
func (d *Daemon) eventOfEnd(end workers.End, f func(m *sched.Machine)) {
	if d.closing {
		return
	}
	d.m.Advance(d.now())
	f(d.m)
	d.act(end)
}

// tick runs when the scheduler asked to be told the time.
func (d *Daemon) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event(func(*sched.Machine) {})
}

// act does the scheduler's actions and sets its timer. End is how a worker ended, when
// the actions follow from that; mu held.
func (d *Daemon) act(end workers.End) {
	for {
		as := d.m.Actions()
		if len(as) == 0 {
			break
		}
		for _, a := range as {
			d.do(a, end)
		}
	}
	if at, ok := d.m.Next(); ok {
		d.timer.Reset(max(at-d.now(), 0) + 50*time.Microsecond)
	} else {
		d.timer.Stop()
	}
}

// Totals returns what the node has, in units of 1/10000.
func (d *Daemon) Totals() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.m.Totals().Wire()
}
