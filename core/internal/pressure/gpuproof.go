package pressure

import "fmt"

// Unenforceable says why gpu_memory_enforce is impossible on this node; "" means that it is
// possible. It is possible if the processes that the driver lists are recognised as ours:
// the driver has listed a worker, or the process of a probe, under its id. Where a probe
// cannot open a GPU, this process must know all processes by the ids that the driver knows.
// The lock is not held.
func (g *GPUWatch) Unenforceable() string {
	reader, err := g.open()
	if err != nil {
		return err.Error()
	}
	g.proving.Lock()
	defer g.proving.Unlock()
	var proven bool
	var refused string
	g.locked(func() { proven, refused = g.proven, g.refused })
	if proven || refused != "" {
		return refused
	}
	if _, err := reader.Uses(); err != nil {
		return err.Error() // not for ever: the helper is started again
	}
	listed, err := reader.Probe()
	if err != nil {
		listed = reader.HostIDs()
		err = fmt.Errorf("this node is a container with process ids of its own, and a probe could not open a GPU: %w", err)
	} else {
		err = fmt.Errorf("NVML does not list this node's processes under their ids, as in a container with process ids of its own")
	}
	g.c.Lock.Lock()
	defer g.c.Lock.Unlock()
	if listed {
		g.proven = true
		return ""
	}
	g.refused = err.Error()
	return g.refused
}
