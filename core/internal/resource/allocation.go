package resource

// Share is a part of one device, at most one whole. Of a GPU whose memory is
// known Bytes is the same in bytes; both are rounded up.
type Share struct {
	ID     string
	Amount Amount
	Bytes  int64
}

// Allocation is what Acquire took out of a ledger until Release.
type Allocation struct {
	need    Set
	shares  map[string][]share
	ledger  *Ledger
	blocked bool
}

type share struct {
	index  int    // into the ledger's devices of that name
	grains Amount // see device
}

// Resources returns a copy of the amounts.
func (a *Allocation) Resources() Set { return a.need.Clone() }

// Blocked reports whether the allocation's CPU is given back for a while.
func (a *Allocation) Blocked() bool { return a.blocked }

// Frees returns what its end gives back, at least: of a GPU both the part and
// the bytes, whichever was asked for. The CPU of a blocked task is given back already. What comes back to a bundle has the names by which work asks
// for it there.
func (a *Allocation) Frees() Set {
	s := a.frees()
	b := a.ledger.in
	if b == nil {
		return s
	}
	out := make(Set, 2*len(s))
	for _, suffix := range []string{b.id.suffix(), b.id.group()} {
		for name, n := range s {
			out[name+suffix] = n
		}
	}
	return out
}

func (a *Allocation) frees() Set {
	s := a.need.Clone()
	if a.blocked {
		delete(s, CPU)
	}
	if a.shares[GPU] == nil {
		return s
	}
	delete(s, GPUMemory)
	s[GPU] = 0
	for _, share := range a.Shares()[GPU] {
		s[GPU] += share.Amount
		if share.Bytes > 0 {
			s[GPUMemory] += Amount(share.Bytes) * Unit
		}
	}
	return s
}

// Shares returns the devices by resource name, in the ledger's order.
func (a *Allocation) Shares() map[string][]Share {
	m := make(map[string][]Share, len(a.shares))
	for name, shares := range a.shares {
		for _, s := range shares {
			m[name] = append(m[name], a.ledger.devices[name][s.index].share(s.grains))
		}
	}
	return m
}

// DeviceIDs returns the ids of the devices by resource name.
func (a *Allocation) DeviceIDs() map[string][]string {
	m := make(map[string][]string, len(a.shares))
	for name, shares := range a.shares {
		for _, s := range shares {
			m[name] = append(m[name], a.ledger.devices[name][s.index].id)
		}
	}
	return m
}

func (d *device) share(grains Amount) Share {
	m := Amount(d.bytes)
	s := Share{ID: d.id, Amount: (grains + m - 1) / m}
	if d.known {
		s.Bytes = int64((grains + Unit - 1) / Unit)
	}
	return s
}
