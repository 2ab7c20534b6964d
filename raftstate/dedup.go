package raftstate

// bounds say how much is remembered of requests that were answered. What is over a bound is forgotten in an order that
// follows from the log alone. The tests make them small.
type bounds struct {
	perClient int // results of one client: the lowest numbers go first
	results   int // results of all clients: those of the client go first that has asked for nothing for the longest time
	clients   int // clients: the one goes that has asked for nothing for the longest time
}

// keptRequests are the bounds of every machine. They cannot be changed while members of another version take part, because
// all members have to forget the same.
var keptRequests = bounds{perClient: 4096, results: 65536, clients: 4096}

// dedup remembers the results of requests until their client acknowledges them. For each client it has a floor: no
// request up to that number is remembered any more. A request at or below the floor which has no result here cannot be told apart
// from a retry, and is refused.
//
// A client that was forgotten as a whole has no floor. But a request says how much of the log its sender had seen when the
// request was made. If that is less than the last command of a client that was forgotten before this one became known, the
// request may be a retry from the time before that, and is refused, too.
type dedup struct {
	bounds    bounds
	clients   map[Client]*asker
	oldest    *asker // has asked for nothing for the longest time; see asker.next
	newest    *asker
	results   int    // of all clients together
	forgotten uint64 // index of the last command of all clients that were forgotten
}

// asker is what is remembered of one client.
type asker struct {
	id     Client
	floor  uint64
	since  uint64 // what forgotten was when the client became known
	used   uint64 // index of the client's last command
	kept   results
	prev   *asker // asked for something before this one did
	next   *asker
	linked bool // is in the list
}

func newDedup() dedup {
	return dedup{bounds: keptRequests, clients: map[Client]*asker{}}
}

// find takes a client's word which requests are answered, and returns the known result of a request.
func (d *dedup) find(c *Command) (Result, bool) {
	id := c.Request
	if id == (RequestID{}) {
		return Result{}, false
	}
	floor, since := uint64(0), d.forgotten
	if a := d.clients[id.Client]; a != nil {
		d.acknowledge(a, min(c.Answered, id.Seq))
		if r, ok := a.kept.find(id.Seq); ok {
			return r, true
		}
		floor, since = a.floor, a.since
	}
	if id.Seq <= floor || c.Seen != 0 && c.Seen < since {
		return Result{Outcome: Expired}, true
	}
	return Result{}, false
}

// acknowledge drops the results below a number, which the client has.
func (d *dedup) acknowledge(a *asker, below uint64) {
	if below == 0 || below-1 <= a.floor {
		return
	}
	a.floor = below - 1
	dropped := a.kept.drop(below)
	d.results -= dropped
}

// keep remembers the result of a command whose request is not known, and forgets what is over the bounds.
func (d *dedup) keep(c *Command, r Result) {
	id := c.Request
	if id == (RequestID{}) {
		return
	}
	a := d.clients[id.Client]
	if a == nil {
		a = &asker{id: id.Client, since: d.forgotten}
		d.clients[id.Client] = a
		d.acknowledge(a, min(c.Answered, id.Seq))
	}
	d.unlink(a)
	d.link(a)
	a.used = r.Index
	a.kept.add(id.Seq, r)
	d.results++
	if a.kept.len() > d.bounds.perClient {
		d.dropLowest(a)
	}
	if d.results > d.bounds.results {
		d.dropLowest(d.oldestWithResults())
	}
	if len(d.clients) > d.bounds.clients {
		d.forget(d.oldest)
	}
}

// dropLowest drops a client's result with the lowest number.
func (d *dedup) dropLowest(a *asker) {
	d.acknowledge(a, max(a.kept.list[0].seq, a.floor)+1)
}

// oldestWithResults returns the client that has asked for nothing for the longest time among those with results.
func (d *dedup) oldestWithResults() *asker {
	a := d.oldest
	for a.kept.len() == 0 {
		a = a.next
	}
	return a
}

// forget forgets a client as a whole.
func (d *dedup) forget(a *asker) {
	d.unlink(a)
	delete(d.clients, a.id)
	d.results -= a.kept.len()
	d.forgotten = max(d.forgotten, a.used)
}

// link makes a client the newest.
func (d *dedup) link(a *asker) {
	a.prev, a.next, a.linked = d.newest, nil, true
	if d.newest != nil {
		d.newest.next = a
	} else {
		d.oldest = a
	}
	d.newest = a
}

func (d *dedup) unlink(a *asker) {
	if !a.linked {
		return
	}
	a.linked = false
	if a.prev != nil {
		a.prev.next = a.next
	} else {
		d.oldest = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	} else {
		d.newest = a.prev
	}
}

// clone returns a copy that shares nothing, in three pieces of memory.
func (d *dedup) clone() dedup {
	c := dedup{bounds: d.bounds, clients: make(map[Client]*asker, len(d.clients)), forgotten: d.forgotten}
	askers := make([]asker, 0, len(d.clients))
	all := make([]answered, 0, d.results)
	for a := d.oldest; a != nil; a = a.next {
		from := len(all)
		all = append(all, a.kept.list...)
		askers = append(askers, asker{id: a.id, floor: a.floor, since: a.since, used: a.used, kept: results{list: all[from:len(all):len(all)]}})
		c.enter(&askers[len(askers)-1])
	}
	return c
}

// enter adds a client that is not known, as the newest.
func (d *dedup) enter(a *asker) {
	d.clients[a.id] = a
	d.link(a)
	d.results += a.kept.len()
}
