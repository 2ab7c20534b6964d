package pressure

import (
	"sync"

	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// Figures is what the memory watch reads. FiguresOf reads the real ones. Its methods may
// be called from several goroutines.
type Figures interface {
	// Levels returns the memory of the machine and of the cgroups of this process.
	Levels() []machine.Level
	// Kills returns how many processes the kernel has ended because memory was short.
	Kills() uint64
	// Processes lists all processes that this process can see.
	Processes() []workers.ProcStat
	// Anonymous returns the bytes of anonymous memory of a process. With exact, memory
	// that several processes share is divided among them, which takes longer to read.
	Anonymous(pid int, exact bool) uint64
	// Command returns the command line of a process.
	Command(pid int) string
}

// FiguresOf reads the figures of this machine. Root is the folder in which the machine's
// files are; "" stands for the real ones.
func FiguresOf(root string) Figures {
	return &kernel{gauge: machine.NewGauge(machine.Machine{Root: root})}
}

// kernel is the real Figures: what the kernel shows in its files.
type kernel struct {
	mu    sync.Mutex // guards gauge
	gauge *machine.Gauge
}

func (k *kernel) Levels() []machine.Level {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.gauge.Levels()
}

func (k *kernel) Kills() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.gauge.Kills()
}

func (*kernel) Processes() []workers.ProcStat { return workers.Processes() }

func (*kernel) Anonymous(pid int, exact bool) uint64 { return machine.ProcessAnon(pid, exact) }

func (*kernel) Command(pid int) string { return machine.ProcessCommand(pid) }
