package resource

import "fmt"

// GPUMemory is the resource that counts bytes of the memory of GPUs; GPU is the
// one that counts GPUs.
const (
	GPU       = "GPU"
	GPUMemory = "gpu_memory"
)

// MaxBytes bounds the memory of one device, and of all of a node together.
const MaxBytes = int64(maxWholes)

// device is one ledger in one currency. A device of m bytes consists of m×Unit
// equal grains: a part of it, in 1/10000, is so many times m of them, a byte is
// Unit. So parts and bytes are taken from the same grains, nothing is ever
// rounded, and a device cannot be given out twice. A device whose memory is not
// known has m = 1 and gives no bytes.
type device struct {
	id    string
	bytes int64 // m
	known bool
	free  Amount // grains
	most  Amount // grains that the ledger may give out: all of them, or in a bundle the part that the bundle has
}

func newDevice(id string) device { return device{id: id, bytes: 1, free: Unit, most: Unit} }

func (d *device) size() Amount { return d.most }

// part is how much of it is free, rounded down to 1/10000.
func (d *device) part() Amount { return d.free / Amount(d.bytes) }

// ask is what an allocation wants of the devices of one resource name: wholes,
// or a part, and at least so many bytes of each.
type ask struct {
	amount Amount // of devices
	memory Amount // of bytes, on each device
}

func (a ask) none() bool { return a.amount <= 0 && a.memory <= 0 }

// askOf returns what need wants of the named devices.
func askOf(need Set, name string) ask {
	a := ask{amount: need[name]}
	if name == GPU {
		a.memory = need[GPUMemory]
	}
	return a
}

// count is how many devices it takes.
func (a ask) count() int { return max(int(a.amount/Unit), 1) }

// cost is how many grains it takes of each: of a part and bytes the larger.
func (a ask) cost(d *device) Amount {
	return max(min(a.amount, Unit)*Amount(d.bytes), a.memory)
}

// fits reports whether d has it now; could, whether it would if it were free.
func (a ask) fits(d *device) bool { return a.could(d) && a.cost(d) <= d.free }

func (a ask) could(d *device) bool {
	return (a.memory <= 0 || d.known) && a.cost(d) <= d.size()
}

// tighter reports whether d is to be taken before o: the fullest first, by
// bytes where bytes are all that is asked for.
func (a ask) tighter(d, o *device) bool {
	if a.amount <= 0 {
		return d.free < o.free
	}
	return d.part() < o.part()
}

// whole reports whether a can be counted in devices at all.
func (a ask) whole() bool { return a.amount/Unit == 0 || a.amount.Whole() }

// fitsIn reports whether take would find devices.
func (a ask) fitsIn(devices []device) bool {
	if !a.whole() {
		return false
	}
	n := a.count()
	for i := range devices {
		if a.fits(&devices[i]) {
			if n--; n == 0 {
				return true
			}
		}
	}
	return false
}

// take debits a, which fits, and says from where.
func (a ask) take(devices []device) []share {
	if a.amount < Unit {
		best := -1
		for i := range devices {
			if a.fits(&devices[i]) && (best < 0 || a.tighter(&devices[i], &devices[best])) {
				best = i
			}
		}
		cost := a.cost(&devices[best])
		devices[best].free -= cost
		return []share{{best, cost}}
	}
	shares := make([]share, 0, a.count())
	for i := range devices {
		if d := &devices[i]; len(shares) < a.count() && a.fits(d) {
			shares = append(shares, share{i, d.free})
			d.free = 0
		}
	}
	return shares
}

// shortOf explains why devices could never give a, "" when they could or when
// too few of them are the reason.
func (a ask) shortOf(name string, devices []device) string {
	switch {
	case !a.whole():
		return fmt.Sprintf("%s: asked %s, more than 1 must be a whole number", name, a.amount)
	case a.memory <= 0:
		return ""
	}
	var known, enough int
	var most int64
	for i := range devices {
		if d := &devices[i]; d.known {
			known++
			most = max(most, d.bytes)
			if a.could(d) {
				enough++
			}
		}
	}
	asked := FormatBytes(int64(a.memory / Unit))
	switch {
	case enough >= a.count():
		return ""
	case len(devices) == 0:
		return fmt.Sprintf("%s: asked %s, the cluster has no %s", GPUMemory, asked, name)
	case known == 0:
		return fmt.Sprintf("%s: asked %s, but how much memory the cluster's %s devices have is not known: declare it, init(gpu_memory=\"16GiB\") or eagleray start --gpu-memory=16GiB", GPUMemory, asked, name)
	case enough == 0:
		return fmt.Sprintf("%s: asked %s of one device, the largest has %s", GPUMemory, asked, FormatBytes(most))
	}
	return fmt.Sprintf("%s: asked %d devices with %s each, %d of %d have so much", GPUMemory, a.count(), asked, enough, len(devices))
}

// setMemory tells how many bytes the devices have.
func setMemory(devices []device, bytes map[string]int64) error {
	var sum int64
	there := make(map[string]bool, len(devices))
	for i := range devices {
		d := &devices[i]
		there[d.id] = true
		m, ok := bytes[d.id]
		switch {
		case !ok:
			continue
		case m <= 0:
			return fmt.Errorf("the memory of %s %q: %d bytes, must be above 0", GPU, d.id, m)
		case m > MaxBytes-sum:
			return fmt.Errorf("the memory of %s %q: %d bytes, a node has at most %d in all", GPU, d.id, m, MaxBytes)
		}
		sum += m
		d.bytes, d.known, d.free, d.most = m, true, Amount(m)*Unit, Amount(m)*Unit
	}
	for id := range bytes {
		if !there[id] {
			return fmt.Errorf("the memory of %s %q is given, but there is no such device", GPU, id)
		}
	}
	return nil
}
