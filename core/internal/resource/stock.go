package resource

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Stock is what a ledger has and what of it is free, without a word about who holds the rest. It can be sent to
// another process, which makes a ledger of it that gives the same answers.
type Stock struct {
	Totals  Set
	Free    Set // of what does not come in devices; CPU may be negative
	Devices map[string][]DeviceStock
	Bundles []BundleStock // those that are open
}

// BundleStock is a bundle of a Stock.
type BundleStock struct {
	ID      BundleID
	Totals  Set // of what does not come in devices
	Free    Set
	Devices map[string][]DeviceStock // Most says how much of each device the bundle has
}

// DeviceStock is one device of a Stock.
type DeviceStock struct {
	Bytes int64  // of its memory, 0 when that is not known
	Free  Amount // of Bytes×Unit equal parts of the device, or of Unit parts where Bytes is 0
	Most  Amount // of those parts, of a device of a bundle: as many as the bundle has
}

// The bounds of a stock that another process has sent.
const (
	maxStockNames   = 1000 // of resources
	maxStockDevices = 1000 // of one resource
)

// Stock returns what the ledger has and what is free.
func (l *Ledger) Stock() Stock {
	s := l.stock()
	for _, suffix := range sortedNames(l.bundles) {
		b := l.bundles[suffix]
		if b.inner == nil {
			continue
		}
		in := b.inner.stock()
		for name, list := range in.Devices {
			for i := range list {
				list[i].Most = b.inner.devices[name][i].most
			}
		}
		s.Bundles = append(s.Bundles, BundleStock{b.id, in.Totals, in.Free, in.Devices})
	}
	return s
}

func (l *Ledger) stock() Stock {
	s := Stock{Totals: l.totals.Clone(), Free: l.free.Clone()}
	delete(s.Totals, GPUMemory)
	delete(s.Free, GPUMemory)
	for name, devices := range l.devices {
		if s.Devices == nil {
			s.Devices = make(map[string][]DeviceStock, len(l.devices))
		}
		list := make([]DeviceStock, len(devices))
		for i, d := range devices {
			list[i].Free = d.free
			if d.known {
				list[i].Bytes = d.bytes
			}
		}
		s.Devices[name] = list
		delete(s.Totals, name)
		delete(s.Free, name)
	}
	return s
}

// Changes counts the changes of what the ledger has or has free. As long as it is the same, so is the stock.
func (l *Ledger) Changes() uint64 { return l.changes }

// Equal reports whether both are the same.
func (s Stock) Equal(o Stock) bool {
	return s.Totals.Equal(o.Totals) && s.Free.Equal(o.Free) && maps.EqualFunc(s.Devices, o.Devices, slices.Equal[[]DeviceStock]) &&
		slices.EqualFunc(s.Bundles, o.Bundles, BundleStock.Equal)
}

// Equal reports whether both are the same.
func (s BundleStock) Equal(o BundleStock) bool {
	return s.ID == o.ID && s.Totals.Equal(o.Totals) && s.Free.Equal(o.Free) && maps.EqualFunc(s.Devices, o.Devices, slices.Equal[[]DeviceStock])
}

// Restore makes a ledger of a stock. Nothing of it is held by an allocation: what is not free stays so. Its devices
// are called by their places in the stock. The stock may come from another process, and the error says what is
// wrong with it.
func Restore(s Stock) (*Ledger, error) {
	if len(s.Totals) > maxStockNames || len(s.Free) > maxStockNames || len(s.Devices) > maxStockNames {
		return nil, fmt.Errorf("a node has at most %d kinds of resources", maxStockNames)
	}
	for name, n := range s.Totals {
		if n < 0 || n > maxWholes*Unit {
			return nil, fmt.Errorf("total of resource %s: %s is no quantity", name, n)
		}
	}
	ids := make(map[string][]string, len(s.Devices))
	memory := make(map[string]int64)
	for name, devices := range s.Devices {
		if len(devices) > maxStockDevices {
			return nil, fmt.Errorf("a node has at most %d devices %s", maxStockDevices, name)
		}
		for i, d := range devices {
			id := strconv.Itoa(i)
			ids[name] = append(ids[name], id)
			if d.Bytes != 0 && name != GPU {
				return nil, fmt.Errorf("a device %s has %d bytes of memory: only those of a %s are counted", name, d.Bytes, GPU)
			}
			if d.Bytes != 0 {
				memory[id] = d.Bytes
			}
		}
	}
	l, err := NewLedger(s.Totals, ids)
	if err == nil && len(memory) > 0 {
		err = l.SetGPUMemory(memory)
	}
	if err != nil {
		return nil, err
	}
	if err := l.reduce(s); err != nil {
		return nil, err
	}
	for _, b := range s.Bundles {
		if err := l.restoreBundle(b); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// MaxBundles is how many bundles one node can have.
const MaxBundles = 100_000

// restoreBundle adds a bundle of a stock.
func (l *Ledger) restoreBundle(s BundleStock) error {
	suffix := s.ID.suffix()
	switch id, ok := parseSuffix(suffix); {
	case !ok || id != s.ID || s.ID.Index < 0:
		return fmt.Errorf("a node has no bundle %.200q", suffix)
	case l.bundles[suffix] != nil:
		return fmt.Errorf("a node has %s twice", s.ID)
	case len(l.bundles) >= MaxBundles:
		return fmt.Errorf("a node has at most %d bundles", MaxBundles)
	case len(s.Totals) > maxStockNames || len(s.Free) > maxStockNames || len(s.Devices) > maxStockNames:
		return fmt.Errorf("%s has at most %d kinds of resources", s.ID, maxStockNames)
	}
	inner := &Ledger{totals: s.Totals.Clone(), devices: make(map[string][]device, len(s.Devices)), held: make(map[*Allocation]struct{})}
	for name, n := range inner.totals {
		if free := s.Free[name]; n < 0 || n > maxWholes*Unit || free > n || free < 0 && (name != CPU || free < -maxWholes*Unit) {
			return fmt.Errorf("%s of %s of resource %s are free in %s", free, n, name, s.ID)
		}
	}
	inner.free = s.Free.Clone()
	for name := range inner.free {
		if _, known := inner.totals[name]; !known {
			return fmt.Errorf("%s has none of resource %s, and some of it is free", s.ID, name)
		}
	}
	for name, devices := range s.Devices {
		if len(devices) > maxStockDevices {
			return fmt.Errorf("%s has at most %d devices %s", s.ID, maxStockDevices, name)
		}
		for i, d := range devices {
			if d.Bytes < 0 || d.Bytes > MaxBytes || d.Bytes != 0 && name != GPU {
				return fmt.Errorf("device %d of %s in %s has %d bytes of memory", i, name, s.ID, d.Bytes)
			}
			own := device{id: strconv.Itoa(i), bytes: max(d.Bytes, 1), known: d.Bytes != 0, free: d.Free, most: d.Most}
			if d.Free < 0 || d.Free > d.Most || d.Most > Amount(own.bytes)*Unit {
				return fmt.Errorf("%d of %d parts of device %d of %s are free in %s", d.Free, d.Most, i, name, s.ID)
			}
			inner.devices[name] = append(inner.devices[name], own)
		}
	}
	inner.sumDevices()
	l.open(&bundle{id: s.ID, outer: l, hold: &Allocation{ledger: l}}, inner)
	return nil
}

// reduce leaves of a ledger, all of which is free, what is free by the stock.
func (l *Ledger) reduce(s Stock) error {
	for name := range s.Free {
		if _, known := s.Totals[name]; !known && s.Free[name] != 0 {
			return fmt.Errorf("%s of resource %s are free, and the node has none", s.Free[name], name)
		}
	}
	for name, total := range s.Totals {
		n := s.Free[name]
		if n > total || n < 0 && (name != CPU || n < -maxWholes*Unit) {
			return fmt.Errorf("%s of resource %s are free of %s", n, name, total)
		}
		l.free[name] = n
	}
	for name, devices := range s.Devices {
		var parts Amount
		for i, d := range devices {
			mine := &l.devices[name][i]
			if d.Free < 0 || d.Free > mine.size() {
				return fmt.Errorf("%d of %d parts of device %d of %s are free", d.Free, mine.size(), i, name)
			}
			mine.free = d.Free
			parts += mine.part()
		}
		if len(devices) > 0 {
			l.free[name] = parts
		}
	}
	l.count()
	return nil
}

// Could reports whether need fits when everything is free. CanEver says why not.
func (l *Ledger) Could(need Set) bool {
	if inner, _, asks := l.within(need, (*Ledger).could); asks {
		return inner != nil
	}
	return l.could(need)
}

func (l *Ledger) could(need Set) bool {
	if !need.Fits(l.totals) {
		return false
	}
	for name, devices := range l.devices {
		if a := askOf(need, name); !a.none() && !a.couldFitIn(devices) {
			return false
		}
	}
	return true
}

// couldFitIn reports whether fitsIn holds when all devices are free.
func (a ask) couldFitIn(devices []device) bool {
	if !a.whole() {
		return false
	}
	n := a.count()
	for i := range devices {
		if a.could(&devices[i]) {
			if n--; n == 0 {
				return true
			}
		}
	}
	return false
}

// Load returns the largest part of a resource that is in use, from 0 to 1, or more when CPUs are overdrawn. What bundles have is in use.
func (l *Ledger) Load() (most float64) {
	for name, total := range l.totals {
		if total > 0 {
			most = max(most, float64(total-l.free[name])/float64(total))
		}
	}
	return most
}

// AsksDevices reports whether need asks for some of the ledger's devices.
func (l *Ledger) AsksDevices(need Set) bool {
	if inside, _, asks := Outside(need); asks {
		need = inside
	}
	for name, devices := range l.devices {
		if len(devices) > 0 && !askOf(need, name).none() {
			return true
		}
	}
	return false
}

// HasDevices reports whether the ledger has resources that come in devices.
func (l *Ledger) HasDevices() bool {
	for _, devices := range l.devices {
		if len(devices) > 0 {
			return true
		}
	}
	return false
}
