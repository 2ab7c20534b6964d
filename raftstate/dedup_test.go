package raftstate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// imageClients returns the clients as they are in a snapshot.
func (d *dedup) imageClients() (list []imageClient) {
	for a := d.oldest; a != nil; a = a.next {
		list = append(list, *a.image())
	}
	return list
}

// plain is what dedup does, in the plainest form: one list of clients, in the order of their last commands.
type plain struct {
	bounds    bounds
	clients   []*plainClient
	forgotten uint64
}

type plainClient struct {
	id                 Client
	floor, since, used uint64
	results            map[uint64]Result
}

func (p *plain) client(id Client) *plainClient {
	for _, c := range p.clients {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (c *plainClient) raise(floor uint64) {
	c.floor = max(c.floor, floor)
	for seq := range c.results {
		if seq <= c.floor {
			delete(c.results, seq)
		}
	}
}

func (c *plainClient) dropLowest() {
	low := ^uint64(0)
	for seq := range c.results {
		low = min(low, seq)
	}
	c.raise(low)
}

func (p *plain) apply(index uint64, c *Command) (Result, bool) {
	k := p.client(c.Request.Client)
	if k != nil && c.Answered > 0 {
		k.raise(c.Answered - 1)
	}
	if k != nil {
		if r, ok := k.results[c.Request.Seq]; ok {
			return r, true
		}
		if c.Request.Seq <= k.floor {
			return Result{Outcome: Expired}, true
		}
	}
	if since := p.forgotten; c.Seen != 0 {
		if k != nil {
			since = k.since
		}
		if c.Seen < since {
			return Result{Outcome: Expired}, true
		}
	}
	if k == nil {
		k = &plainClient{id: c.Request.Client, since: p.forgotten, results: map[uint64]Result{}}
		if c.Answered > 0 {
			k.floor = c.Answered - 1
		}
	}
	p.clients = append(slices.DeleteFunc(p.clients, func(o *plainClient) bool { return o == k }), k)
	k.used = index
	k.results[c.Request.Seq] = Result{Index: index}
	if len(k.results) > p.bounds.perClient {
		k.dropLowest()
	}
	all := 0
	for _, c := range p.clients {
		all += len(c.results)
	}
	if all > p.bounds.results {
		p.clients[slices.IndexFunc(p.clients, func(c *plainClient) bool { return len(c.results) > 0 })].dropLowest()
	}
	if len(p.clients) > p.bounds.clients {
		p.forgotten = max(p.forgotten, p.clients[0].used)
		p.clients = p.clients[1:]
	}
	return Result{Index: index}, false
}

// same compares everything that is remembered.
func same(t *testing.T, d *dedup, p *plain) {
	t.Helper()
	list := d.imageClients()
	n := 0
	for i, c := range list {
		k := p.clients[i]
		if c.ID != k.id || c.Floor != k.floor || c.Since != k.since || c.Used != k.used || len(c.Results) != len(k.results) {
			t.Fatalf("client %d is %+v, want %+v", i, c, k)
		}
		for _, r := range c.Results {
			if k.results[r.Seq] != r.Result {
				t.Fatalf("client %d: request %d has %+v, want %+v", i, r.Seq, r.Result, k.results[r.Seq])
			}
		}
		n += len(c.Results)
		if d.clients[c.ID] == nil {
			t.Fatalf("client %d is not found", i)
		}
	}
	if len(list) != len(p.clients) || len(d.clients) != len(list) || n != d.results || d.forgotten != p.forgotten {
		t.Fatalf("%d clients with %d results, up to %d forgotten; want %d clients, %d counted, %d", len(list), n, d.forgotten, len(p.clients), d.results, p.forgotten)
	}
}

// sender is a client that sends requests at most some times, in any order, and acknowledges what was answered.
type sender struct {
	id      Client
	last    uint64
	waiting []Command // in the order of their numbers; sent or not, and not answered
	old     []Command // answered; may still arrive once more
}

// Random clients under small bounds: what is remembered is as in the plain model, and no request is ever applied twice.
func TestDedup_RandomClients_AsInThePlainModelAndNothingTwice(t *testing.T) {
	for seed := range uint64(60) {
		die := rand.New(rand.NewPCG(seed, 3))
		b := bounds{perClient: 1 + die.IntN(6), results: 3 + die.IntN(12), clients: 1 + die.IntN(5)}
		if b.results < b.perClient {
			b.results = b.perClient
		}
		d, p := newDedup(), &plain{bounds: b}
		d.bounds = b
		senders := make([]*sender, 1+die.IntN(7))
		for i := range senders {
			senders[i] = &sender{id: Client{byte(i + 1)}}
		}
		applied := map[RequestID]bool{}
		answered, expired := 0, 0
		for index := uint64(10); index <= 2000; index++ { // the first entries of a log are no commands
			s := senders[die.IntN(len(senders))]
			if len(s.waiting) == 0 || die.IntN(3) == 0 {
				s.last++
				below := s.last
				if len(s.waiting) > 0 {
					below = s.waiting[0].Request.Seq
				}
				if seed%3 == 0 {
					below = 0 // an older version
				}
				// The sender's member may be behind.
				s.waiting = append(s.waiting, Command{Request: RequestID{s.id, s.last}, Answered: below, Seen: max(1, index-min(index, 1+uint64(die.IntN(3))))})
			}
			at := die.IntN(len(s.waiting))
			c := s.waiting[at]
			if len(s.old) > 0 && die.IntN(4) == 0 {
				c = s.old[die.IntN(len(s.old))]
			}
			r, known := d.find(&c)
			if !known {
				if applied[c.Request] {
					t.Fatalf("seed %d, command %d: request %v is applied twice", seed, index, c.Request)
				}
				applied[c.Request] = true
				r = Result{Index: index}
				d.keep(&c, r)
			}
			if want, wantKnown := p.apply(index, &c); r != want || known != wantKnown {
				t.Fatalf("seed %d, command %d: got %+v, %v; want %+v, %v", seed, index, r, known, want, wantKnown)
			}
			if r.Outcome == Expired {
				expired++
			} else {
				answered++
			}
			if die.IntN(3) != 0 { // else the answer is lost
				if i := slices.IndexFunc(s.waiting, func(w Command) bool { return w.Request == c.Request }); i >= 0 {
					s.old = append(s.old, c)
					s.waiting = slices.Delete(s.waiting, i, i+1)
				}
			}
			same(t, &d, p)
			if die.IntN(50) == 0 {
				d = d.clone()
			}
			if die.IntN(50) == 0 {
				again := newDedup()
				again.bounds, again.forgotten = b, d.forgotten
				for _, c := range d.imageClients() {
					if err := again.restore(&c); err != nil {
						t.Fatal(err)
					}
				}
				d = again
			}
		}
		if answered == 0 || expired == 0 {
			t.Errorf("seed %d: %d answered, %d expired: the test does not see both", seed, answered, expired)
		}
	}
}

// A clone and what it was made of change independently.
func TestDedup_Clone_ChangesIndependently(t *testing.T) {
	d := newDedup()
	put := func(d *dedup, client byte, seq, answered uint64) {
		c := Command{Request: RequestID{Client{client}, seq}, Answered: answered}
		if _, known := d.find(&c); !known {
			d.keep(&c, Result{Index: seq})
		}
	}
	for seq := range uint64(100) {
		put(&d, byte(seq%7), seq+1, 0)
	}
	want := fmt.Sprint(d.imageClients())
	c := d.clone()
	if got := fmt.Sprint(c.imageClients()); got != want || c.results != d.results {
		t.Fatalf("the clone has %s, want %s", got, want)
	}
	for seq := uint64(101); seq < 300; seq++ {
		put(&c, byte(seq%9), seq, seq-20)
	}
	if got := fmt.Sprint(d.imageClients()); got != want {
		t.Errorf("the original has %s, want %s", got, want)
	}
	want = fmt.Sprint(c.imageClients())
	for seq := uint64(101); seq < 300; seq++ {
		put(&d, byte(seq%5), seq, seq-3)
	}
	if got := fmt.Sprint(c.imageClients()); got != want {
		t.Errorf("the clone has %s, want %s", got, want)
	}
}

// 2,000 commands a second from others push out nothing that a client still waits for.
func TestDedup_SlowClientAmongFastOnes_KeepsItsResult(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	put := func(client byte, seq, answered uint64) Result {
		index++
		r, _ := m.Apply(index, Command{Request: RequestID{Client{client}, seq}, Answered: answered, Body: &JobStart{}})
		return r
	}
	first := put(1, 1, 1)
	for seq := uint64(1); seq <= 50_000; seq++ {
		put(2, seq, seq)
	}
	if r := put(1, 1, 1); r != first {
		t.Errorf("after 50,000 commands of another client: got %+v, want %+v", r, first)
	}
	if n := m.dedup.results; n != 2 {
		t.Errorf("%d results are kept of two requests that are not acknowledged", n)
	}
	if r := put(2, 49_999, 49_999); r.Outcome != Expired {
		t.Errorf("a request that was acknowledged: got %+v", r)
	}
}

// A client of an older version acknowledges nothing: the highest numbers are kept.
func TestDedup_ClientAcknowledgesNothing_RefusesWhatWasForgotten(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	put := func(client byte, seq uint64) Result {
		index++
		r, _ := m.Apply(index, Command{Request: RequestID{Client{client}, seq}, Body: &JobStart{}})
		return r
	}
	for seq := uint64(1); seq <= uint64(keptRequests.perClient)+10; seq++ {
		put(1, seq)
	}
	for range 2 {
		if r := put(1, 10); r.Outcome != Expired {
			t.Errorf("the forgotten: got %+v", r)
		}
		if r := put(1, 11); r.Outcome != Done || r.Index != 11 {
			t.Errorf("the oldest kept: got %+v", r)
		}
		m = restored(t, m)
	}
	if r := put(2, 1); r.Outcome != Done || r.Index != index {
		t.Errorf("another client: got %+v", r)
	}
}

// Log entries of the version that had no acknowledgements are read.
func TestCodec_EnvelopeOfTheFirstVersion_IsRead(t *testing.T) {
	data, err := msgpack.Marshal([]any{1, KindKVPut, Client{1, 2}, 3, map[string]any{"key": "k", "val": []byte("v")}})
	if err != nil {
		t.Fatal(err)
	}
	// Its client is an array of bytes, which the codec writes as bytes.
	data = bytes.Replace(data, append([]byte{0xdc, 0, 16}, 1, 2), append([]byte{0xc4, 16}, 1, 2), 1)
	c, err := decode(data)
	if err != nil || c.Request != (RequestID{Client{1, 2}, 3}) || c.Answered != 0 || c.Seen != 0 || c.Body.(*KVPut).Key != "k" {
		t.Fatalf("got %+v, %v", c, err)
	}
}

// What a client costs, as the documentation says: measured with full tables.
func TestDedup_FullTables_MemoryAsDocumented(t *testing.T) {
	live := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	client := func(i int) Client { return Client{byte(i), byte(i >> 8), 1} }
	before := live()
	idle := newDedup()
	for i := range keptRequests.clients { // each has sent some requests, and waits for none
		for seq := uint64(1); seq <= 5; seq++ {
			c := Command{Request: RequestID{client(i), seq}, Answered: seq}
			idle.find(&c)
			idle.keep(&c, Result{Index: seq})
		}
	}
	perClient := (live() - before) / int64(keptRequests.clients)
	before = live()
	full := newDedup()
	for i := range keptRequests.results / keptRequests.perClient * 2 {
		for seq := range uint64(keptRequests.perClient) {
			full.keep(&Command{Request: RequestID{client(i), seq + 1}}, Result{Index: seq})
		}
	}
	all := live() - before
	if full.results != keptRequests.results {
		t.Errorf("%d results are kept", full.results)
	}
	t.Logf("an idle client takes %d bytes, a result %d, and %d results of all clients %d KiB", perClient, all/int64(full.results), full.results, all>>10)
	if perClient > 300 || all > 16<<20 {
		t.Errorf("an idle client takes %d bytes, and full tables %d", perClient, all)
	}
	runtime.KeepAlive(&idle)
	runtime.KeepAlive(&full)
}

// What is remembered of one busy client takes the same memory after ten thousand requests as after two hundred thousand.
func TestDedup_ManyRequests_NoMoreMemory(t *testing.T) {
	for name, behind := range map[string]uint64{"it acknowledges": 10, "it acknowledges nothing": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			d := newDedup()
			live := func() int64 {
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			n := uint64(0)
			until := func(last uint64) int64 {
				for ; n < last; n++ {
					c := Command{Request: RequestID{Client{1}, n + 1}, Answered: n + 1 - min(n+1, behind)}
					d.find(&c)
					d.keep(&c, Result{Index: n})
				}
				return live()
			}
			first := until(10_000)
			if grown := until(200_000) - first; grown > 300<<10 {
				t.Errorf("%d bytes more", grown)
			}
			runtime.KeepAlive(&d)
		})
	}
}
