package refs

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

const refsHead = 16

// ValueRefs is the table of a value's references, which was checked.
type ValueRefs struct {
	raw   []byte // all of it, and what follows it
	n     int
	size  int // bytes
	ids   []byte
	which []byte // empty: all are the first owner's
	addrs []string
}

// Len returns how many references there are.
func (v *ValueRefs) Len() int { return v.n }

// Rest returns what follows the table.
func (v *ValueRefs) Rest() []byte { return v.raw[v.size:] }

// Ref returns the i-th reference and the address of its owner.
func (v *ValueRefs) Ref(i int) (id ids.Object, owner string) { return v.id(i), v.addr(i) }

func (v *ValueRefs) id(i int) ids.Object { return ids.Object(v.ids[i*ids.ObjectSize:]) }

func (v *ValueRefs) owner(i int) int {
	if len(v.which) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(v.which[4*i:]))
}

// addr returns the address of the owner of the i-th reference.
func (v *ValueRefs) addr(i int) string { return v.addrs[v.owner(i)] }

// WriteRefs makes the table of references, for a value that others will get.
func (t *Table) WriteRefs(list []*ids.Object) ([]byte, error) {
	var addrs []string
	which := make([]uint32, len(list))
	at := map[string]uint32{}
	last, number := "", uint32(0)
	for i, id := range list {
		o := t.Find(*id)
		if o == nil {
			return nil, fault.New(fault.ObjectLost, "object %s is not known here", *id)
		}
		o.MarkShared() // whoever gets the table
		if addr := t.AddrOf(o); addr != last {
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
	size := refsHead + len(list)*ids.ObjectSize
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

var errBadRefs = fault.New(fault.BadRequest,
	"the references of a value are damaged: what is stored of it is no value, so some process has written over it")

// ReadRefs checks the table in front of a value.
func ReadRefs(b []byte) (*ValueRefs, error) {
	raw := b
	if len(b) < refsHead {
		return nil, errBadRefs
	}
	word := func() uint64 {
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		return uint64(n)
	}
	all := uint64(len(b))
	size, n, owners := word(), word(), word()
	word()
	if size > all || size < refsHead || n == 0 || n*ids.ObjectSize > size-refsHead || owners == 0 || owners > n {
		return nil, errBadRefs
	}
	b = b[:size-refsHead]
	t := &ValueRefs{raw: raw, n: int(n), size: int(size)}
	t.ids, b = b[:n*ids.ObjectSize], b[n*ids.ObjectSize:]
	if owners > 1 {
		if n*4 > uint64(len(b)) {
			return nil, errBadRefs
		}
		t.which, b = b[:n*4], b[n*4:]
		for i := range t.n {
			if uint64(t.owner(i)) >= owners {
				return nil, errBadRefs
			}
		}
	}
	for range owners {
		if len(b) < 4 {
			return nil, errBadRefs
		}
		if k := word(); k <= uint64(len(b)) {
			t.addrs = append(t.addrs, string(b[:k]))
			b = b[k:]
		} else {
			return nil, errBadRefs
		}
	}
	return t, nil
}
