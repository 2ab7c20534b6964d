package refs

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// Facts are what the process that takes over a table has to know of an object. The holders
// of the object, its waiters and its source are handed over in other ways.
type Facts struct {
	State     State
	IsError   bool
	Asked     bool
	Seen      bool
	OwnerAddr string
	Site      uint32
	Maker     uint32
	Size      uint64
	Value     []byte
	Fault     *fault.Error
}

// Known returns an object with these facts that is in no table.
func Known(id ids.Object, f Facts) *Object {
	o := &Object{ID: id}
	o.Restore(f)
	return o
}

// Restore replaces the facts of an object. It wakes no waiter, because it is for a table
// that is being restored.
func (o *Object) Restore(f Facts) {
	o.state, o.isError, o.ownerAddr, o.site, o.maker = f.State, f.IsError, f.OwnerAddr, f.Site, f.Maker
	o.size, o.value, o.fault = f.Size, f.Value, f.Fault
	o.set(asked, f.Asked)
	o.set(seen, f.Seen)
}

// Facts returns the facts that Restore needs to make the object again.
func (o *Object) Facts() Facts {
	return Facts{
		State: o.state, IsError: o.isError, Asked: o.has(asked), Seen: o.has(seen), OwnerAddr: o.ownerAddr,
		Site: o.site, Maker: o.maker, Size: o.size, Value: o.value, Fault: o.fault,
	}
}
