package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actorends"
	"github.com/eagleray/eagleray/core/internal/census"
	"github.com/eagleray/eagleray/core/internal/groups"
	"github.com/eagleray/eagleray/core/internal/joblogs"
	"github.com/eagleray/eagleray/core/internal/labels"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/overflow"
	"github.com/eagleray/eagleray/core/internal/packages"
	"github.com/eagleray/eagleray/core/internal/pipes"
	"github.com/eagleray/eagleray/core/internal/provision"
	"github.com/eagleray/eagleray/core/internal/pulls"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/visitors"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

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
	path := wire.DaemonPath(o.SessionDir)
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	d := &Daemon{
		o: o, log: o.Log, socket: socket,
		began:   time.Now(),
		headSet: make(chan struct{}), memoryKnown: make(chan struct{}),
		m: sched.New(sched.Options{
			Ledger: ledger, MaxIdle: o.CPUs, MaxStarts: min(2*o.CPUs, maxStarts), WaitForFit: o.WaitForFit || o.CanGrow,
			FirstLease: sched.LeaseID(o.Number)<<32 | 1, Cluster: o.Cluster != nil, Node: o.Node, Number: o.Number, HeadPatience: o.HeadPatience,
			Labels: labels.WithID(o.Labels, o.Node),
		}),
		overflow:     overflow.New(o.Cluster),
		clients:      make(map[sched.ClientID]*client),
		owners:       make(map[ids.Owner]*client),
		workers:      make(map[sched.WorkerID]*worker),
		jobs:         make(map[ids.Job]*job),
		actors:       make(map[ids.Actor]*actor),
		handovers:    make(map[string]*client),
		failedStarts: make(map[ids.Actor]int),
	}
	d.ctx, d.end = context.WithCancel(context.Background())
	d.pipes = pipes.New(pipes.Options{Node: o.Number, Network: o.Network, Here: pipeHost{d}, Talks: d.talksWith, Refused: func(err error) { d.refuse("pipe refused", err) }})
	d.logs = joblogs.New(joblogs.Options{Node: o.Number, Address: o.Address, Network: o.Objects, Ended: d.JobEnded, Refused: func(err error) { d.refuse("message refused", err) }})
	d.jobsElsewhere = visitors.New(visitors.Options{Network: o.Objects, Here: d.jobHere, Refused: func(err error) { d.refuse("message refused", err) }})
	d.ends = actorends.New(actorends.Options{Node: o.Number, Network: o.Objects, Address: d.addressOf, Alive: d.takesCalls, Refused: func(err error) { d.refuse("message refused", err) }})
	d.census = census.New(census.Options{Self: o.Node, Node: counted{d}, Network: o.Objects, Context: d.ctx, Refused: func(err error) { d.refuse("message refused", err) }})
	d.groups = groups.New(groups.Options{Context: d.ctx, Head: d.headOf, Event: d.Event, Answers: o.Bundles})
	d.openWatches()
	d.perform = d.carryOut
	d.objects, err = objects.Open(objects.Options{
		Bytes: o.ArenaBytes, Dir: o.SessionDir, Spill: o.Spill, Lock: &d.mu, Notify: storeEvents{d}, Log: d.log,
	})
	if err != nil {
		socket.Close()
		return nil, err
	}
	d.pulls = pulls.New(pulls.Options{
		Node: o.Number, Network: o.Objects, Store: d.objects, Bytes: o.ArenaBytes, Lock: &d.mu, Log: d.log,
		Lives: func(o ids.Owner) bool { return d.owners[o] != nil }, Refused: func(err error) { d.refuse("message refused", err) },
		ID: o.Node, NodeOf: o.NodeOf,
	})
	d.timer = time.AfterFunc(time.Hour, d.tick)
	d.timer.Stop()
	d.packages = packages.NewStore(packages.Options{Dir: o.SessionDir + "/packages", Node: o.Number, Head: o.HeadBulk, Log: d.log})
	d.provided = provision.NewStore(provision.Options{Dir: o.SessionDir + "/environments", LogDir: o.SessionDir + "/logs", Caps: o.EnvironmentCaps, Log: d.log})
	d.table = workers.Open(workers.Options{SessionDir: o.SessionDir, Interpreter: o.Interpreter, Lock: &d.mu, Log: d.log, Place: d.packages.Place, Provide: d.provide, NodeEnv: o.Env})
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
	d.event(func(*sched.Machine) {}) // the head hears what this node has
	d.trimmer.Start()
}

// closeLimit bounds how long Close kills what does not want to die.
const closeLimit = time.Second

// Close ends everything that the daemon started and removes what it made, the
// session directory's logs excepted when keepLogs is set. The head must have
// been closed before.
func (d *Daemon) Close(keepLogs bool) {
	d.Stop()
	peers := d.beginClose()
	d.socket.Close()
	d.served.Wait()
	for _, p := range peers {
		p.Close()
	}
	d.pipes.Close()
	d.logs.Close()
	if left := d.table.Close(closeLimit); left > 0 {
		d.log.Warn("processes do not end", "left", left)
	}
	d.packages.Close()
	d.provided.Close()
	d.pulls.Close()
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

// beginClose stops what the daemon does by itself, and returns the connections that are to
// be closed. Nothing is started any more.
func (d *Daemon) beginClose() (peers []*wire.Peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing = true
	d.gpus.Close()
	d.objects.Stop()
	d.timer.Stop()
	d.trimmer.Stop()
	for _, c := range d.clients {
		peers = append(peers, c.peer)
	}
	d.table.Stop()
	return peers
}

// SendStore sends a text and a descriptor of the store's memory through a socket.
func (d *Daemon) SendStore(socket int, text []byte) error { return d.objects.SendTo(socket, text) }

// Totals returns what the node has, in units of 1/10000.
func (d *Daemon) Totals() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.m.Totals().Wire()
}
