package answered

// Client is the random name of one proposer.
type Client [16]byte

// RequestID makes a retried command apply once. A client's numbers count from
// 1; the zero value asks Apply for the next.
type RequestID struct {
	Client Client
	Seq    uint64
}

// Request is what a command says of its request.
type Request struct {
	ID       RequestID
	Answered uint64 // the client needs the results of its requests with lower numbers no more; 0 says nothing
	Seen     uint64 // an index of the log that the sender's member had applied when the request was made; 0: not known
}

// Verdict says what is known of a request.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // it was not carried out
	Known                  // it was carried out, and its result is known
	Expired                // nobody can tell any more whether it was carried out
)

// Bounds say how much is remembered of requests that were answered. What is over a bound is forgotten in an order that
// follows from the log alone. The tests make them small.
type Bounds struct {
	PerClient int // results of one client: the lowest numbers go first
	Results   int // results of all clients: those of the client go first that has asked for nothing for the longest time
	Clients   int // clients: the one goes that has asked for nothing for the longest time
}

// Kept are the bounds of every machine. They cannot be changed while members of another version take part, because
// all members have to forget the same.
var Kept = Bounds{PerClient: 4096, Results: 65536, Clients: 4096}

// Table remembers the results of requests until their client acknowledges them. For each client it has a floor: no
// request up to that number is remembered any more. A request at or below the floor which has no result here cannot be told apart
// from a retry, and is refused.
//
// A client that was forgotten as a whole has no floor. But a request says how much of the log its sender had seen when the
// request was made. If that is less than the last command of a client that was forgotten before this one became known, the
// request may be a retry from the time before that, and is refused, too.
type Table[R any] struct {
	bounds    Bounds
	clients   map[Client]*asker[R]
	oldest    *asker[R] // has asked for nothing for the longest time; see asker.next
	newest    *asker[R]
	results   int    // of all clients together
	forgotten uint64 // index of the last command of all clients that were forgotten
}

// asker is what is remembered of one client.
type asker[R any] struct {
	id     Client
	floor  uint64
	since  uint64 // what forgotten was when the client became known
	used   uint64 // index of the client's last command
	kept   results[R]
	prev   *asker[R] // asked for something before this one did
	next   *asker[R]
	linked bool // is in the list
}

// New returns an empty table with the bounds Kept.
func New[R any]() *Table[R] { return newTable[R](Kept) }

func newTable[R any](b Bounds) *Table[R] {
	return &Table[R]{bounds: b, clients: map[Client]*asker[R]{}}
}

// Len returns how many results are kept.
func (t *Table[R]) Len() int { return t.results }

// Find takes a client's word which requests are answered, and says what is known of the request. A request without a name is always Unknown.
func (t *Table[R]) Find(q Request) (result R, v Verdict) {
	id := q.ID
	if id == (RequestID{}) {
		return result, Unknown
	}
	floor, since := uint64(0), t.forgotten
	if a := t.clients[id.Client]; a != nil {
		t.acknowledge(a, min(q.Answered, id.Seq))
		if r, ok := a.kept.find(id.Seq); ok {
			return r, Known
		}
		floor, since = a.floor, a.since
	}
	if id.Seq <= floor || q.Seen != 0 && q.Seen < since {
		return result, Expired
	}
	return result, Unknown
}

// acknowledge drops the results below a number, which the client has.
func (t *Table[R]) acknowledge(a *asker[R], below uint64) {
	if below == 0 || below-1 <= a.floor {
		return
	}
	a.floor = below - 1
	dropped := a.kept.drop(below)
	t.results -= dropped
}

// Keep remembers the result of a request that was Unknown and has been carried out by the command at an index of the log, and forgets what is over the bounds.
func (t *Table[R]) Keep(q Request, index uint64, r R) {
	id := q.ID
	if id == (RequestID{}) {
		return
	}
	a := t.clients[id.Client]
	if a == nil {
		a = &asker[R]{id: id.Client, since: t.forgotten}
		t.clients[id.Client] = a
		t.acknowledge(a, min(q.Answered, id.Seq))
	}
	t.unlink(a)
	t.link(a)
	a.used = index
	a.kept.add(id.Seq, r)
	t.results++
	if a.kept.len() > t.bounds.PerClient {
		t.dropLowest(a)
	}
	if t.results > t.bounds.Results {
		t.dropLowest(t.oldestWithResults())
	}
	if len(t.clients) > t.bounds.Clients {
		t.forget(t.oldest)
	}
}

// dropLowest drops a client's result with the lowest number.
func (t *Table[R]) dropLowest(a *asker[R]) {
	t.acknowledge(a, max(a.kept.list[0].seq, a.floor)+1)
}

// oldestWithResults returns the client that has asked for nothing for the longest time among those with results.
func (t *Table[R]) oldestWithResults() *asker[R] {
	a := t.oldest
	for a.kept.len() == 0 {
		a = a.next
	}
	return a
}

// forget forgets a client as a whole.
func (t *Table[R]) forget(a *asker[R]) {
	t.unlink(a)
	delete(t.clients, a.id)
	t.results -= a.kept.len()
	t.forgotten = max(t.forgotten, a.used)
}

// link makes a client the newest.
func (t *Table[R]) link(a *asker[R]) {
	a.prev, a.next, a.linked = t.newest, nil, true
	if t.newest != nil {
		t.newest.next = a
	} else {
		t.oldest = a
	}
	t.newest = a
}

func (t *Table[R]) unlink(a *asker[R]) {
	if !a.linked {
		return
	}
	a.linked = false
	if a.prev != nil {
		a.prev.next = a.next
	} else {
		t.oldest = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	} else {
		t.newest = a.prev
	}
}

// Clone returns a copy that shares nothing, in three pieces of memory.
func (t *Table[R]) Clone() *Table[R] {
	c := &Table[R]{bounds: t.bounds, clients: make(map[Client]*asker[R], len(t.clients)), forgotten: t.forgotten}
	askers := make([]asker[R], 0, len(t.clients))
	all := make([]answer[R], 0, t.results)
	for a := t.oldest; a != nil; a = a.next {
		from := len(all)
		all = append(all, a.kept.list...)
		askers = append(askers, asker[R]{id: a.id, floor: a.floor, since: a.since, used: a.used, kept: results[R]{list: all[from:len(all):len(all)]}})
		c.enter(&askers[len(askers)-1])
	}
	return c
}

// enter adds a client that is not known, as the newest.
func (t *Table[R]) enter(a *asker[R]) {
	t.clients[a.id] = a
	t.link(a)
	t.results += a.kept.len()
}
