package pressure

import (
	"log/slog"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/gpus"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// GPUWatch checks how much memory of GPUs the workers hold. Where a share is enforced, it
// ends workers that hold more than their share.
type GPUWatch struct {
	c    GPUConfig
	once sync.Once // guards the opening of
	gpus GPUs      // these; nil when
	err  error     // that has failed

	proving sync.Mutex // held by whoever finds out whether the driver's process ids are ours

	// GPUConfig.Lock guards what follows.
	holds   map[uint64]*hold // by the worker's id
	proven  bool             // the driver has listed one of our processes under its id
	refused string           // why the driver's process ids are known not to be ours
	running bool             // the goroutine that looks
	closed  bool
	wake    chan struct{} // tells the goroutine to look at once
}

// GPUConfig is what a GPUWatch is made of.
type GPUConfig struct {
	Open     func() (GPUs, error) // called once, when the figures are needed first
	Workers  GPUWorkers
	Lock     sync.Locker // the daemon's lock, which also guards its table of workers
	Log      *slog.Logger
	Complain func(what string, err error) // tells the log of trouble that may come again and again
	Stop     <-chan struct{}              // ends the goroutine that looks when it is closed
}

// GPUWorkers is what the GPU watch needs of the node's workers. The daemon implements it.
// The watch holds GPUConfig.Lock when it calls.
type GPUWorkers interface {
	// WorkerOf returns the worker whose own process has this id.
	WorkerOf(pid int) (id uint64, ok bool)
	// EndNow ends a worker. It returns false when the worker is being ended for another
	// reason that has to do with memory.
	EndNow(id uint64, why Ending) bool
}

// hold is what one worker was given of GPUs, and what it holds of their memory.
type hold struct {
	pid     int
	kind    string   // "task" or "actor"
	name    string   // of the task's function or the actor's class
	devices []string // the ids of the devices that the worker was given
	share   int64    // bytes of each device that the work asked for; 0: it did not
	enforce bool
	ended   bool          // for holding more than its share
	used    map[int]int64 // bytes as last seen, by the driver's number of the device
}

// NewGPUWatch returns a watch that begins to look when a worker is given a GPU.
func NewGPUWatch(c GPUConfig) *GPUWatch {
	return &GPUWatch{c: c, holds: make(map[uint64]*hold), wake: make(chan struct{}, 1)}
}

// open returns the figures, which are opened at the first call.
func (g *GPUWatch) open() (GPUs, error) {
	g.once.Do(func() {
		if g.gpus, g.err = g.c.Open(); g.err != nil {
			g.c.Log.Info("the memory of GPUs is not watched", "why", g.err)
		}
	})
	return g.gpus, g.err
}

// Given is what work on a worker was given.
type Given struct {
	Worker  uint64
	Pid     int
	Actor   bool   // the work is an actor; else it is the tasks of a lease
	Name    string // of the function or class
	Hold    *resource.Allocation
	Enforce bool // the work asked that its share of the memory is enforced
}

// Assign notes what a worker was given, and begins to look when a GPU is part of it.
// The lock is held.
func (g *GPUWatch) Assign(x Given) {
	h := g.holds[x.Worker]
	if h == nil {
		h = &hold{}
		g.holds[x.Worker] = h
	}
	devices := x.Hold.DeviceIDs()[resource.GPU]
	*h = hold{pid: x.Pid, kind: "task", name: x.Name, devices: devices, used: h.used, ended: h.ended}
	if x.Actor {
		h.kind = "actor"
	}
	if len(devices) == 0 {
		return
	}
	h.share = int64(x.Hold.Resources()[resource.GPUMemory] / resource.Unit)
	h.enforce = x.Enforce && h.share > 0
	if !g.running && !g.closed {
		g.running = true
		go g.run()
	}
	if h.enforce {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
}

// Forget drops a worker that is gone. The lock is held.
func (g *GPUWatch) Forget(worker uint64) { delete(g.holds, worker) }

// Close ends the watch: nothing is checked any more. The lock is held.
func (g *GPUWatch) Close() { g.closed = true }

// The times between two looks: while a worker has a GPU, and while one is held to its
// share.
const (
	gpuLook        = time.Second
	gpuEnforceLook = 50 * time.Millisecond
)

// locked calls f with the lock held. The lock is released also when f panics.
func (g *GPUWatch) locked(f func()) {
	g.c.Lock.Lock()
	defer g.c.Lock.Unlock()
	f()
}

// look takes account of what the GPUs' memory is used for. It returns the time until the next
// look, and whether there is one; the lock is held.
func (g *GPUWatch) look(uses []gpus.Use) (every time.Duration, goesOn bool) {
	every, held := g.account(uses)
	g.running = held && !g.closed
	return every, g.running
}

// run looks while a worker has a GPU.
func (g *GPUWatch) run() {
	reader, err := g.open()
	if err != nil {
		return // running stays true: nobody tries again
	}
	for {
		uses, err := reader.Uses()
		if err != nil {
			g.c.Complain("the memory of GPUs cannot be watched", err)
		}
		var every time.Duration
		var goesOn bool
		if g.locked(func() { every, goesOn = g.look(uses) }); !goesOn {
			return
		}
		select {
		case <-g.wake:
		case <-time.After(every):
		case <-g.c.Stop:
			return
		}
	}
}
