package raftstate

import "maps"

// Bounds of the table of answered requests.
const (
	keptResults       = 8192 // results, over all clients
	keptClients       = 1024 // clients whose results have all gone
	singleKeptResults = 4096 // in a cluster of one member, where no command travels; commands proposed at the same time may still overtake each other
)

// dedup remembers the results of the latest requests, in log order. For a client whose older
// results are gone it remembers the highest sequence number among them. A request with a number
// that is not higher, and that is not in the table, cannot be told apart from a retry, and is
// refused.
type dedup struct {
	results results
	floors  map[Client]uint64
	clients []Client // of floors, in order of arrival
}

func newDedup() dedup {
	return dedup{results: results{limit: keptResults}, floors: map[Client]uint64{}}
}

// find returns the known result of a request.
func (d *dedup) find(id RequestID) (Result, bool) {
	if id == (RequestID{}) {
		return Result{}, false
	}
	if r, ok := d.results.find(id); ok {
		return r, true
	}
	if floor, ok := d.floors[id.Client]; ok && id.Seq <= floor {
		return Result{Outcome: Expired}, true
	}
	return Result{}, false
}

// keep remembers the result of a request that is not known, and forgets the oldest.
func (d *dedup) keep(id RequestID, r Result) {
	if id == (RequestID{}) {
		return
	}
	if old, full := d.results.add(id, r); full {
		d.raise(old)
	}
}

func (d *dedup) raise(old RequestID) {
	floor, known := d.floors[old.Client]
	d.floors[old.Client] = max(floor, old.Seq)
	if known {
		return
	}
	var gone Client
	var full bool
	if d.clients, gone, full = appendBounded(d.clients, old.Client, keptClients); full {
		delete(d.floors, gone)
	}
}

func (d *dedup) clone() dedup {
	return dedup{
		results: d.results.clone(),
		floors:  maps.Clone(d.floors),
		clients: append([]Client(nil), d.clients...),
	}
}
