package worker

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
)

// hiddenVariables are for the worker itself.
var hiddenVariables = []string{"EAGLERAY_ENV_KEY", "EAGLERAY_RUNTIME_ENV", "EAGLERAY_GO_PYTHON", "EAGLERAY_GO_BUILD"}

// unit is how many units of a resource are one; see package resource.
const unit = 10_000

// assigned is what the lease in force gives this process.
type assigned struct {
	mu        sync.Mutex
	resources map[string]int64
	devices   map[string][]string
	set       map[string]string  // variables
	before    map[string]*string // what they were; nil: not set
	threads   bool               // GOMAXPROCS is the worker's to choose
}

func newAssigned() *assigned {
	_, chosen := os.LookupEnv("GOMAXPROCS")
	return &assigned{before: map[string]*string{}, threads: !chosen}
}

// leastThreads is how many processors the runtime of a worker uses at least: it reads sockets and collects garbage beside the call.
const leastThreads = 4

// bundle is what work in a placement group holds beside its own resources; programs do not see it.
const bundle = "bundle"

// apply makes this process see what it was given.
func (a *assigned) apply(resources map[string]int64, devices map[string][]string, env map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resources, a.devices = maps.Clone(resources), devices
	delete(a.resources, bundle)
	for name := range a.set {
		if _, still := env[name]; still {
			continue
		}
		if before := a.before[name]; before != nil {
			os.Setenv(name, *before)
		} else {
			os.Unsetenv(name)
		}
		delete(a.before, name)
	}
	for name, text := range env {
		if _, known := a.before[name]; !known {
			a.before[name] = nil
			if before, ok := os.LookupEnv(name); ok {
				a.before[name] = &before
			}
		}
		os.Setenv(name, text)
	}
	a.set = maps.Clone(env)
	if a.threads {
		runtime.GOMAXPROCS(max(leastThreads, int((resources["CPU"]+unit-1)/unit)))
	}
}

// restore sets the variables of devices again: an earlier call may have changed them.
func (a *assigned) restore() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, text := range a.set {
		if os.Getenv(name) != text {
			os.Setenv(name, text)
		}
	}
}

func (a *assigned) amounts() map[string]float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make(map[string]float64, len(a.resources))
	for name, n := range a.resources {
		out[name] = float64(n) / unit
	}
	return out
}

func (a *assigned) of(family string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.devices[family])
}
