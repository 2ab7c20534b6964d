package daemon

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// learnMemory tells the scheduler how much memory the node's GPUs have: at
// once if that was declared, else when the vendor's tool has answered.
func (d *Daemon) learnMemory() error {
	if d.o.Devices.MemoryDeclared() {
		defer close(d.memoryKnown)
		if err := d.m.SetGPUMemory(d.o.Devices.GPUMemory()); err != nil {
			return fmt.Errorf("gpu_memory: %w", err)
		}
		return nil
	}
	go func() {
		defer d.tick() // what the node has is known now
		defer close(d.memoryKnown)
		found := d.o.Devices.GPUMemory()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.closing {
			return
		}
		if err := d.m.SetGPUMemory(found); err != nil {
			d.log.Warn("the memory of the GPUs stays unknown", "error", err)
		}
		d.act(workers.End{})
	}()
	return nil
}

// awaitMemory waits until it is known whether need, nil for anything, has
// enough memory of GPUs.
func (d *Daemon) awaitMemory(need map[string]int64) {
	if need == nil || need[resource.GPUMemory] > 0 {
		select {
		case <-d.memoryKnown:
		case <-d.ctx.Done():
		}
	}
}
