package client

import (
	"encoding/binary"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// The references inside a pickled value stand in a table in front of the pickle,
// in the order in which the pickle takes them. All numbers are of 32 bits, the
// lowest byte first: the table's size, how many references and how many owners it
// has, and 0. Then come the ids; when there are several owners, which of them has
// each; and the owners' addresses, each behind its length.

const tableHead = 16

// refTable is a table that was checked.
type refTable struct {
	n     int
	size  int // bytes, all of it
	ids   []byte
	which []byte // empty: all are the first owner's
	addrs []string
}

func (t *refTable) id(i int) ids.Object { return ids.Object(t.ids[i*ids.ObjectSize:]) }

func (t *refTable) owner(i int) int {
	if len(t.which) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(t.which[4*i:]))
}

// RefTable makes the table of references.
func (c *Client) RefTable(list []*ids.Object) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, c.why
	}
	var addrs []string
	which := make([]uint32, len(list))
	at := map[string]uint32{}
	last, number := "", uint32(0)
	for i, id := range list {
		o := c.table.Find(*id)
		if o == nil {
			return nil, fault.New(fault.ObjectLost, "object %s is not known here", *id)
		}
		o.MarkShared() // whoever gets the table
		if addr := c.addrOf(o); addr != last {
			n, ok := at[addr]
			if !ok {
				n = uint32(len(addrs))
				at[addr] = n
				addrs = append(addrs, addr)
			}
			last, number = addr, n
		}
		which[i] = number
	}
	size := tableHead + len(list)*ids.ObjectSize
	if len(addrs) > 1 {
		size += 4 * len(list)
	}
	for _, a := range addrs {
		size += 4 + len(a)
	}
	b := make([]byte, 0, size)
	for _, n := range []int{size, len(list), len(addrs), 0} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	for _, id := range list {
		b = append(b, id[:]...)
	}
	if len(addrs) > 1 {
		for _, n := range which {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
	}
	for _, a := range addrs {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(a)))
		b = append(b, a...)
	}
	return b, nil
}

var errBadTable = fault.New(fault.BadRequest,
	"the references of a value are damaged: what is stored of it is no value, so some process has written over it")

// parseRefs checks a table; what follows it is left alone.
func parseRefs(b []byte) (*refTable, error) {
	if len(b) < tableHead {
		return nil, errBadTable
	}
	word := func() uint64 {
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		return uint64(n)
	}
	all := uint64(len(b))
	size, n, owners := word(), word(), word()
	word()
	if size > all || size < tableHead || n == 0 || n*ids.ObjectSize > size-tableHead || owners == 0 || owners > n {
		return nil, errBadTable
	}
	b = b[:size-tableHead]
	t := &refTable{n: int(n), size: int(size)}
	t.ids, b = b[:n*ids.ObjectSize], b[n*ids.ObjectSize:]
	if owners > 1 {
		if n*4 > uint64(len(b)) {
			return nil, errBadTable
		}
		t.which, b = b[:n*4], b[n*4:]
		for i := range t.n {
			if uint64(t.owner(i)) >= owners {
				return nil, errBadTable
			}
		}
	}
	for range owners {
		if len(b) < 4 {
			return nil, errBadTable
		}
		if k := word(); k <= uint64(len(b)) {
			t.addrs = append(t.addrs, string(b[:k]))
			b = b[k:]
		} else {
			return nil, errBadTable
		}
	}
	return t, nil
}
