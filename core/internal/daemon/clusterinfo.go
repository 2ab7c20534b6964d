package daemon

import (
	"bytes"
	"context"
	"maps"

	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// storeMemory is the resource that stands for the arena. Nobody reserves it: what of it is free is what objects have left.
const storeMemory = "object_store_memory"

// answerClusterInfo serves TClusterInfo.
func (d *Daemon) answerClusterInfo(ctx context.Context, _ *client, _ *wire.Message) (any, error) {
	d.awaitMemory(nil)
	return d.clusterInfo(ctx)
}

// clusterInfo answers nodes(), cluster_resources(), available_resources() and
// the status command.
func (d *Daemon) clusterInfo(ctx context.Context) (wire.ClusterInfo, error) {
	rows, err := inquiry.Nodes(ctx, d.head)
	info, totals := d.nodeUse()
	for i := range rows {
		row := &rows[i]
		if !bytes.Equal(row.NodeID, d.o.Node[:]) {
			continue
		}
		row.Available = info.Available
		if n := totals[resource.GPUMemory]; n > 0 {
			row.Resources = maps.Clone(row.Resources) // it was registered before this was known
			row.Resources[resource.GPUMemory] = int64(n)
		}
	}
	info.Nodes, info.Largest = rows, inquiry.Largest(rows)
	return info, err
}

// nodeUse returns what the node has, and what of it is in use, waits or is free: the answer
// of clusterInfo without the list of nodes.
func (d *Daemon) nodeUse() (wire.ClusterInfo, resource.Set) {
	d.mu.Lock()
	defer d.mu.Unlock()
	totals, free := d.m.Totals(), d.m.Free()
	for name, n := range free {
		free[name] = max(n, 0)
	}
	if n := totals[storeMemory]; n > 0 {
		free[storeMemory] = max(n-resource.FromInt(int64(d.objects.UsedBytes())), 0)
	}
	info := wire.ClusterInfo{
		Totals:    wire.Totals{Resources: totals.Wire(), CanGrow: d.o.CanGrow || d.o.Cluster != nil, Wait: d.o.WaitForFit, LargestGPU: d.m.LargestGPU()},
		Available: free.Wire(),
		Pending:   d.m.Pending(),
		Workers:   len(d.workers),
		Actors:    len(d.actors),
	}
	for _, x := range d.m.Demands() {
		info.Demands = append(info.Demands, wire.Demand{Name: x.Name, Resources: x.Need.Wire(), Count: x.N})
	}
	info.GPUUses = d.gpus.Uses()
	for _, j := range d.jobs {
		if !j.ended && !j.left {
			info.Jobs++
		}
	}
	return info, totals
}
