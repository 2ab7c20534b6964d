package daemon

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// strangeDevices declare the memory of a GPU that the node does not have.
type strangeDevices struct{ noDevices }

func (strangeDevices) GPUMemory() map[string]int64 { return map[string]int64{"GPU-x": 1 << 30} }

// openThings counts what this process has open, and the goroutines that a daemon has started, whether they run yet or not.
func openThings(t *testing.T) (files, goroutines int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, of := range []string{"core/internal/daemon.", "core/internal/objects."} {
		goroutines += strings.Count(string(stacks), "created by github.com/eagleray/eagleray/"+of)
	}
	return len(list), goroutines
}

// An Open that fails leaves neither descriptors nor goroutines nor a socket.
func TestOpen_Fails_LeavesNothingOpen(t *testing.T) {
	opened(t) // Go's own descriptors for sockets are there from now on.
	for name, change := range map[string]func(o *Options){
		"devices that are not there":     func(o *Options) { o.Devices = strangeDevices{} },
		"a directory that cannot be":     func(o *Options) { o.Spill = objects.SpillOptions{Roots: []string{"/proc/none"}} },
		"a store that is much too large": func(o *Options) { o.ArenaBytes = 1 << 62 },
	} {
		dir, err := os.MkdirTemp("", "er")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		o := Options{SessionDir: dir + "/s", Node: ids.NewNode(), Number: 1, Totals: resource.Set{resource.CPU: resource.Unit}, Devices: noDevices{}, ArenaBytes: minArena, CPUs: 1}
		change(&o)
		files, goroutines := openThings(t)
		d, err := Open(o)
		if err == nil {
			d.Close(false)
			t.Errorf("%s: it was opened", name)
			continue
		}
		// A goroutine that was told to end is listed until it has, and what an earlier test has left may end meanwhile.
		f, g := openThings(t)
		for deadline := time.Now().Add(time.Minute); (f > files || g > goroutines) && time.Now().Before(deadline); f, g = openThings(t) {
			time.Sleep(time.Millisecond)
		}
		if f > files || g > goroutines {
			t.Errorf("%s: %v; %d descriptors instead of %d, %d goroutines instead of %d", name, err, f, files, g, goroutines)
		}
		if _, err := os.Stat(dir + "/s/d.sock"); !os.IsNotExist(err) {
			t.Errorf("%s: the socket is there: %v", name, err)
		}
	}
}
