package resource

import (
	"fmt"
	"slices"
)

// Ledger is what one node has and what of it is free.
type Ledger struct {
	totals  Set
	free    Set
	devices map[string][]device // of device-like resources
	held    map[*Allocation]struct{}
	changes uint64 // see Changes
}

// NewLedger returns a ledger with everything free. devices lists the ids of
// device-like resources in the order in which they are handed out; their total
// is their number, and totals may only agree.
func NewLedger(totals Set, devices map[string][]string) (*Ledger, error) {
	l := &Ledger{
		totals:  totals.Clone().Trim(),
		devices: make(map[string][]device, len(devices)),
		held:    make(map[*Allocation]struct{}),
	}
	for _, name := range sortedNames(totals) {
		if totals[name] < 0 {
			return nil, fmt.Errorf("total of resource %s: %s %w", name, totals[name], ErrNegative)
		}
	}
	if _, ok := totals[GPUMemory]; ok {
		return nil, fmt.Errorf("resource %s is counted per device: declare the memory of the GPUs instead", GPUMemory)
	}
	for _, name := range sortedNames(devices) {
		ids := devices[name]
		total := FromInt(int64(len(ids)))
		if t, ok := totals[name]; ok && t != total {
			return nil, fmt.Errorf("total of resource %s is %s, but it has %d devices", name, t, len(ids))
		}
		seen := make(map[string]bool, len(ids))
		for _, id := range ids {
			if seen[id] {
				return nil, fmt.Errorf("resource %s has the device %q twice", name, id)
			}
			seen[id] = true
			l.devices[name] = append(l.devices[name], newDevice(id))
		}
		if total > 0 {
			l.totals[name] = total
		}
	}
	l.free = l.totals.Clone()
	return l, nil
}

// SetGPUMemory tells how many bytes the GPUs have, by device id. Those that are
// absent stay unknown: they give no bytes. It is for a ledger of which nothing
// is given out, or whose GPUs were unknown; devices that are in use keep the
// part that is used.
func (l *Ledger) SetGPUMemory(bytes map[string]int64) error {
	devices := slices.Clone(l.devices[GPU])
	if err := setMemory(devices, bytes); err != nil {
		return err
	}
	for i, was := range l.devices[GPU] {
		d := &devices[i]
		if d.bytes == was.bytes {
			d.free = was.free
			continue
		}
		if was.known {
			return fmt.Errorf("the memory of %s %q is known already: %d bytes", GPU, d.id, was.bytes)
		}
		d.free = was.free * Amount(d.bytes)
		for a := range l.held {
			for j, s := range a.shares[GPU] {
				if s.index == i {
					a.shares[GPU][j].grains = s.grains * Amount(d.bytes)
				}
			}
		}
	}
	l.changes++
	copy(l.devices[GPU], devices)
	delete(l.totals, GPUMemory)
	for _, d := range devices {
		if d.known {
			l.totals[GPUMemory] += d.size()
		}
	}
	l.count()
	return nil
}

// LargestGPU returns the bytes of the GPU with the most memory, 0 where none is known.
func (l *Ledger) LargestGPU() (bytes int64) {
	for _, d := range l.devices[GPU] {
		if d.known {
			bytes = max(bytes, d.bytes)
		}
	}
	return bytes
}

// Weigh returns need with bytes of GPUs also as the part of a device that they
// are at least, so that it can be compared with what parts others ask for.
func (l *Ledger) Weigh(need Set) Set {
	if need[GPUMemory] <= 0 {
		return need
	}
	most := Amount(l.LargestGPU())
	if most == 0 {
		return need
	}
	s := need.Clone()
	s[GPU] = max(s[GPU], min((need[GPUMemory]+most-1)/most, Unit))
	return s
}

// count brings what is free of GPUs and of their memory up to date: both are
// sums over the devices.
func (l *Ledger) count() {
	devices := l.devices[GPU]
	if len(devices) == 0 {
		return
	}
	var parts, bytes Amount
	for i := range devices {
		parts += devices[i].part()
		if devices[i].known {
			bytes += devices[i].free
		}
	}
	l.free[GPU] = parts
	if _, known := l.totals[GPUMemory]; known {
		l.free[GPUMemory] = bytes
	}
}

// Totals returns a copy of what the node has.
func (l *Ledger) Totals() Set { return l.totals.Clone() }

// Free returns a copy of what is free now; CPU may be negative.
func (l *Ledger) Free() Set { return l.free.Clone() }

// CanEver reports whether need fits an idle node, and if not, what is short.
func (l *Ledger) CanEver(need Set) (why string, ok bool) {
	rest := need.Clone()
	for _, name := range l.asked(need) {
		if why = askOf(need, name).shortOf(name, l.devices[name]); why != "" {
			break
		}
	}
	delete(rest, GPUMemory)
	if short := Shortage(rest, l.totals); short != "" {
		why = join(short, why)
	}
	return why, why == ""
}

// asked lists the device-like resources that need names, sorted; bytes of
// memory are asked of GPUs.
func (l *Ledger) asked(need Set) []string {
	var names []string
	for name := range l.devices {
		if !askOf(need, name).none() {
			names = append(names, name)
		}
	}
	if need[GPUMemory] > 0 && l.devices[GPU] == nil {
		names = append(names, GPU)
	}
	slices.Sort(names)
	return names
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// Fits reports whether Acquire would succeed now.
func (l *Ledger) Fits(need Set) bool {
	if !need.Fits(l.free) {
		return false
	}
	for name, devices := range l.devices {
		if a := askOf(need, name); !a.none() && !a.fitsIn(devices) {
			return false
		}
	}
	return true
}

// Acquire takes need out of the ledger, all or nothing. A fraction goes to the
// fullest device that still has it, and so do bytes of memory; wholes go to
// free devices, the first in the list before the others. With both, whole
// devices must have so much memory each, and of a fraction and bytes the larger
// counts.
func (l *Ledger) Acquire(need Set) (*Allocation, bool) {
	if !l.Fits(need) {
		return nil, false
	}
	a := &Allocation{need: make(Set, len(need)), ledger: l}
	for name, amount := range need {
		if amount > 0 {
			a.need[name] = amount
		}
	}
	for name, devices := range l.devices {
		if want := askOf(need, name); !want.none() {
			if a.shares == nil {
				a.shares = make(map[string][]share, 1)
			}
			a.shares[name] = want.take(devices)
		}
	}
	l.changes++
	l.free.Sub(a.need)
	if a.shares[GPU] != nil {
		l.count()
	}
	l.held[a] = struct{}{}
	return a, true
}

// Release gives an allocation back. A second release, or one of another
// ledger's allocation, does nothing.
func (l *Ledger) Release(a *Allocation) {
	if _, ok := l.held[a]; !ok {
		return
	}
	delete(l.held, a)
	l.changes++
	for name, amount := range a.need {
		if name != CPU || !a.blocked {
			l.free[name] += amount
		}
	}
	for name, shares := range a.shares {
		for _, s := range shares {
			l.devices[name][s.index].free += s.grains
		}
	}
	if a.shares[GPU] != nil {
		l.count()
	}
}

// BlockCPU gives the allocation's CPU back while its task waits.
func (l *Ledger) BlockCPU(a *Allocation) {
	if _, ok := l.held[a]; !ok || a.blocked {
		return
	}
	a.blocked = true
	l.giveCPU(a.need[CPU])
}

// UnblockCPU takes the CPU back at once, even when others have it by now: the
// balance may become negative, and nothing that needs CPU fits until it is not.
func (l *Ledger) UnblockCPU(a *Allocation) {
	if _, ok := l.held[a]; !ok || !a.blocked {
		return
	}
	a.blocked = false
	l.giveCPU(-a.need[CPU])
}

func (l *Ledger) giveCPU(a Amount) {
	if a != 0 {
		l.changes++
		l.free[CPU] += a
	}
}
