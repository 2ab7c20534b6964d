package resource

import (
	"fmt"
	"slices"
	"strings"
)

// Ledger is what one node has and what of it is free.
type Ledger struct {
	totals  Set
	free    Set
	devices map[string][]device // of device-like resources
	held    map[*Allocation]struct{}
	changes uint64 // see Changes

	bundles map[string]*bundle   // by their suffixes
	groups  map[string][]*bundle // those that are open, by the suffixes of their groups, in order
	in      *bundle              // of which this is the ledger; nil for that of a node
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
		if d := devices[i]; was.known && d.bytes != was.bytes {
			return fmt.Errorf("the memory of %s %q is known already: %d bytes", GPU, d.id, was.bytes)
		}
	}
	l.learn(bytes)
	for _, b := range l.bundles {
		if b.inner != nil {
			b.inner.learn(bytes)
		}
	}
	return nil
}

// learn notes the memory of the GPUs of which it was not known. What is in use of them keeps the part that is used.
func (l *Ledger) learn(bytes map[string]int64) {
	delete(l.totals, GPUMemory)
	for i := range l.devices[GPU] {
		d := &l.devices[GPU][i]
		if m, given := bytes[d.id]; given && !d.known {
			d.bytes, d.known = m, true
			d.free *= Amount(m)
			d.most *= Amount(m)
			for a := range l.held {
				for j, s := range a.shares[GPU] {
					if s.index == i {
						a.shares[GPU][j].grains *= Amount(m)
					}
				}
			}
		}
		if d.known {
			l.totals[GPUMemory] += d.size()
		}
	}
	l.changed()
	l.count()
}

// changed counts a change.
func (l *Ledger) changed() {
	l.changes++
	if l.in != nil {
		l.in.outer.changes++
	}
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

// Totals returns a copy of what the node has, with what is set aside in bundles by its own names, too.
func (l *Ledger) Totals() Set {
	return l.addBundles(l.totals.Clone(), func(inner *Ledger) Set { return inner.totals })
}

// Plain returns a copy of what the node has, without the names that bundles have.
func (l *Ledger) Plain() Set { return l.totals.Clone() }

// PlainFree returns a copy of what is free now, without the names that bundles have.
func (l *Ledger) PlainFree() Set { return l.free.Clone() }

// Idle returns a ledger of the same node of which nothing is taken.
func (l *Ledger) Idle() *Ledger {
	idle := &Ledger{totals: l.totals.Clone(), free: l.totals.Clone(), devices: make(map[string][]device, len(l.devices)), held: make(map[*Allocation]struct{})}
	for name, devices := range l.devices {
		for _, d := range devices {
			d.free = d.most
			idle.devices[name] = append(idle.devices[name], d)
		}
	}
	return idle
}

// Emptied returns a ledger of the same node of which nothing is taken but what its open bundles have. On which devices these are may differ.
func (l *Ledger) Emptied() *Ledger {
	idle := l.Idle()
	for _, suffix := range sortedNames(l.bundles) {
		inner := l.bundles[suffix].inner
		if inner == nil {
			continue
		}
		rest := inner.totals.Clone()
		delete(rest, Marker)
		delete(rest, GPUMemory)
		for _, name := range sortedNames(inner.devices) {
			delete(rest, name)
			for i := range inner.devices[name] {
				d := &inner.devices[name][i]
				idle.acquire(Set{name: (d.most + Amount(d.bytes) - 1) / Amount(d.bytes)})
			}
		}
		idle.acquire(rest)
	}
	return idle
}

// Free returns a copy of what is free now, as Totals does; CPU may be negative.
func (l *Ledger) Free() Set {
	return l.addBundles(l.free.Clone(), func(inner *Ledger) Set { return inner.free })
}

// CanEver reports whether need fits an idle node, and if not, what is short.
func (l *Ledger) CanEver(need Set) (why string, ok bool) {
	if inside, id, asks := Outside(need); asks {
		return l.canEverWithin(need, inside, id)
	}
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

// canEverWithin is CanEver for what asks something of a bundle.
func (l *Ledger) canEverWithin(need, inside Set, id BundleID) (why string, ok bool) {
	if l.Could(need) {
		return "", true
	}
	for _, suffix := range sortedNames(l.bundles) {
		if b := l.bundles[suffix]; b.inner != nil && b.id.Group == id.Group && (id.Index < 0 || b.id.Index == id.Index) {
			why, _ = b.inner.CanEver(inside)
			return strings.ReplaceAll(why, "the cluster", b.id.String()), false
		}
	}
	return id.String() + " is not on this node", false
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
	if inner, _, asks := l.within(need, (*Ledger).fits); asks {
		return inner != nil
	}
	return l.fits(need)
}

func (l *Ledger) fits(need Set) bool {
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
	if inner, inside, asks := l.within(need, (*Ledger).fits); inner != nil {
		return inner.acquire(inside)
	} else if asks {
		return nil, false
	}
	return l.acquire(need)
}

func (l *Ledger) acquire(need Set) (*Allocation, bool) {
	if !l.fits(need) {
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
	l.changed()
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
	if b := l.bundleOf(a); b != nil {
		b.inner.Release(a)
		b.endIfUnused()
		return
	}
	if _, ok := l.held[a]; !ok {
		return
	}
	delete(l.held, a)
	l.changed()
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
	if b := l.bundleOf(a); b != nil {
		b.inner.BlockCPU(a)
		return
	}
	if _, ok := l.held[a]; !ok || a.blocked {
		return
	}
	a.blocked = true
	l.giveCPU(a.need[CPU])
}

// UnblockCPU takes the CPU back at once, even when others have it by now: the
// balance may become negative, and nothing that needs CPU fits until it is not.
func (l *Ledger) UnblockCPU(a *Allocation) {
	if b := l.bundleOf(a); b != nil {
		b.inner.UnblockCPU(a)
		return
	}
	if _, ok := l.held[a]; !ok || !a.blocked {
		return
	}
	a.blocked = false
	l.giveCPU(-a.need[CPU])
}

func (l *Ledger) giveCPU(a Amount) {
	if a != 0 {
		l.changed()
		l.free[CPU] += a
	}
}
