package accelerator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// GPUMemory returns the bytes of the GPUs that the node offers, by device id:
// what was declared, else what is found. Devices of which nothing is known are
// absent. It may run a vendor's tool, which takes a moment, and so is not part
// of Detect.
func (n Node) GPUMemory() map[string]int64 {
	found := make(map[string]int64)
	for _, g := range n.Groups {
		if g.Family.Resource != GPU || len(g.IDs) == 0 {
			continue
		}
		if len(n.memory) > 0 {
			for i, id := range g.IDs {
				found[id] = n.memory[min(i, len(n.memory)-1)]
			}
			continue
		}
		if g.Family.memory == nil || n.host == nil {
			continue
		}
		for _, m := range g.Family.memory(n.host, g.IDs) {
			for _, id := range g.IDs {
				if m.bytes > 0 && m.bytes <= resource.MaxBytes && m.is(id) {
					found[id] = m.bytes
				}
			}
		}
	}
	return found
}

// MemoryDeclared reports whether GPUMemory answers at once.
func (n Node) MemoryDeclared() bool {
	return len(n.memory) > 0 || !slices.ContainsFunc(n.Groups, func(g Group) bool {
		return g.Family.Resource == GPU && len(g.IDs) > 0 && g.Family.memory != nil && g.Detected > 0
	})
}

// is reports whether a name in a visibility variable means this device: its
// index, or its UUID or the beginning of it.
func (m memoryOf) is(id string) bool {
	return slices.ContainsFunc(m.names, func(name string) bool {
		return name == id || strings.HasPrefix(id, "GPU-") && strings.HasPrefix(name, id)
	})
}

// declareMemory takes what was declared: nothing, bytes for every GPU, or for
// each one.
func (n *Node) declareMemory(bytes []int64) error {
	if len(bytes) == 0 {
		return nil
	}
	count := 0
	for _, g := range n.Groups {
		if g.Family.Resource == GPU {
			count += len(g.IDs)
		}
	}
	switch {
	case count == 0:
		return fmt.Errorf("gpu_memory is declared, but this node has no GPU: declare num_gpus too")
	case len(bytes) > 1 && len(bytes) != count:
		return fmt.Errorf("gpu_memory declares %d sizes for %d GPUs: give one for all or one for each", len(bytes), count)
	}
	left := resource.MaxBytes
	for i := range count {
		b := bytes[min(i, len(bytes)-1)]
		if b <= 0 || b > left {
			return fmt.Errorf("gpu_memory: %d bytes of GPU %d; must be above 0, and at most %s on a node in all", b, i, resource.FormatBytes(resource.MaxBytes))
		}
		left -= b
	}
	n.memory = bytes
	return nil
}
