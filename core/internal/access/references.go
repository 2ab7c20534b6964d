package access

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Import makes a reference of an id that came from elsewhere, at a site of the program.
func (a *Objects) Import(id ids.Object, addr string, site uint32) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return a.why
	}
	if addr == a.addr {
		addr = ""
	}
	o := a.table.Borrow(id, addr)
	a.table.Ref(o)
	a.Arrived(o, site)
	return nil
}

// Export returns the address of a reference's owner.
func (a *Objects) Export(id ids.Object) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.table.Find(id)
	if o == nil {
		return "", fault.New(fault.ObjectLost, "object %s is not known here", id)
	}
	o.MarkShared()
	return a.table.AddrOf(o), nil
}

// RefTable makes the table of a value's references.
func (a *Objects) RefTable(list []*ids.Object) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, a.why
	}
	return a.table.WriteRefs(list)
}

// ImportAll makes a batch of the references of a table that came from elsewhere,
// at a site of the program. The number is what drops of the batch say.
func (a *Objects) ImportAll(table []byte, site uint32, b refs.Batch) (number uint64, err error) {
	v, err := refs.ReadRefs(table)
	if err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, a.why
	}
	return a.table.ImportBatch(v, site, b)
}

// ImportTable makes a reference of each in the table in front of a value, and returns what follows the table.
func (a *Objects) ImportTable(table []byte) (list []ids.Object, rest []byte, err error) {
	v, err := refs.ReadRefs(table)
	if err != nil {
		return nil, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, a.why
	}
	for _, o := range a.table.Import(v, 0) {
		list = append(list, o.ID)
	}
	return list, v.Rest(), nil
}

// Keep ties a resource to an object that this process owns: release runs once,
// on a goroutine of its own, when nobody holds the object any more or the
// session ends. In this way memory of a device lives as long as the references
// to it in other processes. On an error release does not run.
func (a *Objects) Keep(id ids.Object, release func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return a.why
	}
	return a.table.Keep(id, release)
}
