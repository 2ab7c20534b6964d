package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// slowDevices has GPUs whose memory is known only after a while.
type slowDevices struct {
	noDevices
	known chan map[string]int64
}

func (s slowDevices) GPUMemory() map[string]int64 { return <-s.known }
func (slowDevices) MemoryDeclared() bool          { return false }

// What needs memory of GPUs waits until it is known how much there is, everything
// else does not. The end of the daemon ends the wait.
func TestAwaitMemory_OnlyWhatNeedsIt_Waits(t *testing.T) {
	d, _ := opened(t)
	select {
	case <-d.memoryKnown:
	case <-time.After(testLimit):
		t.Fatal("memory that was declared is not known")
	}
	devices := slowDevices{known: make(chan map[string]int64)}
	d.mu.Lock()
	d.o.Devices, d.memoryKnown = devices, make(chan struct{})
	known := d.memoryKnown
	d.mu.Unlock()
	if err := d.learnMemory(); err != nil {
		t.Fatal(err)
	}
	d.awaitMemory(map[string]int64{})
	d.awaitMemory(map[string]int64{resource.GPUMemory: 0, resource.CPU: 1})
	waits := make(chan int, 2)
	for i, need := range []map[string]int64{nil, {resource.GPUMemory: 1}} {
		go func() {
			d.awaitMemory(need)
			select {
			case <-known:
			default:
				t.Errorf("need %d did not wait", i)
			}
			waits <- i
		}()
	}
	devices.known <- nil
	for range 2 {
		select {
		case <-waits:
		case <-time.After(testLimit):
			t.Fatal("memory that is known is waited for")
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	(&Daemon{memoryKnown: make(chan struct{}), ctx: ended}).awaitMemory(nil)
}
