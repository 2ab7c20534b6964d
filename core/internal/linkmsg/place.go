package linkmsg

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// These are the bodies of the messages about work that has no room on its own node. Package place says how they follow
// on each other. None of them is sent again: on each new connection a node says its stock and all its wants, and an
// offer that was lost expires.

// MaxPlace bounds the body of one of these messages, in bytes.
const MaxPlace = 256 << 10

// MaxStock bounds the body of a message with a Stock, which has the bundles of placement groups that are on the node.
const MaxStock = 8 << 20

// The bounds of what a Want may ask for.
const (
	MaxNeeds  = 65      // choices
	maxNames  = 1000    // resources of one choice
	maxLeases = 1 << 20 // leases
	maxName   = 4 << 10 // bytes of the function's name
	maxNear   = 4       // nodes with large arguments
)

// Stock is what a node has, and what of it is free, as resource.Stock.
type Stock struct {
	Totals  map[string]int64    `msgpack:"totals"`
	Free    map[string]int64    `msgpack:"free"`
	Devices map[string][]Device `msgpack:"devices"`
	Bundles []Bundle            `msgpack:"bundles"` // of placement groups
}

// Bundle is a bundle of a Stock.
type Bundle struct {
	Group   string              `msgpack:"group"`
	Index   int                 `msgpack:"index"`
	Totals  map[string]int64    `msgpack:"totals"`
	Free    map[string]int64    `msgpack:"free"`
	Devices map[string][]Device `msgpack:"devices"`
}

// Device is one device of a Stock.
type Device struct {
	Bytes int64 `msgpack:"bytes"`
	Free  int64 `msgpack:"free"`
	Most  int64 `msgpack:"most"` // of a device of a bundle: how much of it the bundle has
}

// StockOf returns a stock as it travels.
func StockOf(s resource.Stock) Stock {
	t := Stock{Totals: s.Totals.Wire(), Free: s.Free.Wire(), Devices: devicesOf(s.Devices)}
	for _, b := range s.Bundles {
		t.Bundles = append(t.Bundles, Bundle{Group: b.ID.Group, Index: b.ID.Index, Totals: b.Totals.Wire(), Free: b.Free.Wire(), Devices: devicesOf(b.Devices)})
	}
	return t
}

func devicesOf(all map[string][]resource.DeviceStock) map[string][]Device {
	if len(all) == 0 {
		return nil
	}
	t := make(map[string][]Device, len(all))
	for name, devices := range all {
		for _, d := range devices {
			t[name] = append(t[name], Device{d.Bytes, int64(d.Free), int64(d.Most)})
		}
	}
	return t
}

// Stock returns the stock that has travelled. resource.Restore checks it.
func (t *Stock) Stock() resource.Stock {
	s := resource.Stock{Totals: resource.FromWire(t.Totals), Free: resource.FromWire(t.Free), Devices: stocksOf(t.Devices)}
	for i := range t.Bundles {
		b := &t.Bundles[i]
		s.Bundles = append(s.Bundles, resource.BundleStock{
			ID: resource.BundleID{Group: b.Group, Index: b.Index}, Totals: resource.FromWire(b.Totals), Free: resource.FromWire(b.Free), Devices: stocksOf(b.Devices),
		})
	}
	return s
}

func stocksOf(all map[string][]Device) map[string][]resource.DeviceStock {
	if len(all) == 0 {
		return nil
	}
	s := make(map[string][]resource.DeviceStock, len(all))
	for name, devices := range all {
		for _, d := range devices {
			s[name] = append(s[name], resource.DeviceStock{Bytes: d.Bytes, Free: resource.Amount(d.Free), Most: resource.Amount(d.Most)})
		}
	}
	return s
}

// Want says how many leases of a class its own node has no room for. It replaces what was said of the class before.
type Want struct {
	Client  uint64             `msgpack:"client"` // the process, as its daemon numbers it
	Class   uint32             `msgpack:"class"`  // as the process numbers it
	Job     ids.Job            `msgpack:"job"`
	Name    string             `msgpack:"name"`  // of the function
	Needs   []map[string]int64 `msgpack:"needs"` // of a lease, in each choice
	N       int                `msgpack:"n"`
	Due     int                `msgpack:"due"`     // for how many of N an alternative may be taken
	Offered uint64             `msgpack:"offered"` // how many leases were offered so far, as the sender knows

	Strategy string   `msgpack:"strategy"` // as package strategy reads it
	Home     bool     `msgpack:"home"`     // leases of the sender's own node do, too
	Near     []uint32 `msgpack:"near"`     // nodes that hold large arguments, the best one first
}

// Check returns an error if the want is one that no daemon says.
func (w *Want) Check() error {
	switch {
	case len(w.Needs) > MaxNeeds || len(w.Needs) == 0 && w.N > 0:
		return fault.New(fault.BadRequest, "a want has %d choices, 1 to %d are allowed", len(w.Needs), MaxNeeds)
	case w.N < 0 || w.N > maxLeases || w.Due < 0 || w.Due > w.N:
		return fault.New(fault.BadRequest, "%d leases are wanted, of which %d are due: at most %d are allowed", w.N, w.Due, maxLeases)
	case len(w.Near) > maxNear:
		return fault.New(fault.BadRequest, "%d nodes with large arguments are named, at most %d are allowed", len(w.Near), maxNear)
	case len(w.Name) > maxName:
		return fault.New(fault.BadRequest, "the name of a function has %d bytes, at most %d are allowed", len(w.Name), maxName)
	}
	for _, need := range w.Needs {
		if len(need) > maxNames {
			return fault.New(fault.BadRequest, "a lease needs %d resources, at most %d are allowed", len(need), maxNames)
		}
		for name, n := range need {
			if n < 0 {
				return fault.New(fault.BadRequest, "a lease needs %d of resource %s", n, name)
			}
		}
	}
	return nil
}

// Offer says that a node has room for leases of a class.
type Offer struct {
	Client uint64 `msgpack:"client"`
	Class  uint32 `msgpack:"class"`
	Node   uint32 `msgpack:"node"`
	N      int    `msgpack:"n"`
	Choice int    `msgpack:"choice"` // of the want's needs
	Ticket uint64 `msgpack:"ticket"`
	Recall bool   `msgpack:"recall"` // the node has no room, and recalls leases
}

// Check returns an error if the offer is one that no head makes.
func (o *Offer) Check() error {
	if o.N < 1 || o.N > maxLeases || o.Choice < 0 || o.Choice >= MaxNeeds || o.Node == 0 {
		return fault.New(fault.BadRequest, "an offer of %d leases of node %d in choice %d", o.N, o.Node, o.Choice)
	}
	return nil
}

// Settled says what became of an offer. With Stock it is from the node whose leases were offered. Without, it is from the
// node of the process, which does not use the offer.
type Settled struct {
	Ticket uint64 `msgpack:"ticket"`
	Took   int    `msgpack:"took"`
	Stock  *Stock `msgpack:"stock"`
}

// Infeasible says that no node of the cluster can ever give what a class needs, and why. With Busy the node that the class names has no room, and what waits fails.
type Infeasible struct {
	Client  uint64 `msgpack:"client"`
	Class   uint32 `msgpack:"class"`
	Message string `msgpack:"msg"`
	Busy    bool   `msgpack:"busy,omitempty"`
}
