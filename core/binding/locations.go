package binding

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// locateObjects says of each object which nodes have it: node_ids, object_size, which is nil while that is not known, and did_spill.
func locateObjects(k *caller, a *args) (any, error) {
	list, err := a.objects()
	if err != nil {
		return nil, err
	}
	var at wire.ObjLocations
	if err := k.call(wire.TObjWhere, wire.ObjRefs{ObjectIDs: a.ObjectIDs}, &at); err != nil {
		return nil, err
	}
	out := make([]map[string]any, len(list))
	for i, id := range list {
		row := map[string]any{"node_ids": [][]byte{}, "object_size": nil, "did_spill": false}
		size, ready, here := k.c.SizeOf(id)
		if ready {
			row["object_size"] = size
		}
		if i >= len(at.List) {
			return nil, fault.New(fault.Internal, "the daemon says of %d objects where they are, and %d were asked for", len(at.List), len(list))
		}
		if x := at.List[i]; len(x.Nodes) > 0 && !here && (ready || !x.Making) {
			row["node_ids"], row["object_size"], row["did_spill"] = x.Nodes, x.Size, x.Spilled
		}
		out[i] = row
	}
	return out, nil
}

// notifyGone has the async queue give a token when nobody holds an object any more. It reports whether this process
// owns the object: only then does it hear of that.
func notifyGone(k *caller, a *args) (any, error) {
	list, err := a.objects()
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fault.New(fault.BadRequest, "object_gone takes one object, got %d", len(list))
	}
	err = k.c.NotifyGone(list[0], a.Token)
	if fault.CodeOf(err) == fault.ObjectLost {
		return false, nil
	}
	return err == nil, err
}
