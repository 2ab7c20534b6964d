package answered

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// result is what a request gave: the index at which it was carried out.
type result struct{ index uint64 }

type table = Table[result]

// images returns the clients as they are in a snapshot.
func images(t *table) (list []ImageClient[result]) {
	for c := range t.Image() {
		list = append(list, *c)
	}
	return list
}

// plain is what a table does, in the plainest form: one list of clients, in the order of their last commands.
type plain struct {
	bounds    Bounds
	clients   []*plainClient
	forgotten uint64
}

type plainClient struct {
	id                 Client
	floor, since, used uint64
	results            map[uint64]result
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

func (p *plain) apply(index uint64, c Request) (result, Verdict) {
	k := p.client(c.ID.Client)
	if k != nil && c.Answered > 0 {
		k.raise(c.Answered - 1)
	}
	if k != nil {
		if r, ok := k.results[c.ID.Seq]; ok {
			return r, Known
		}
		if c.ID.Seq <= k.floor {
			return result{}, Expired
		}
	}
	if since := p.forgotten; c.Seen != 0 {
		if k != nil {
			since = k.since
		}
		if c.Seen < since {
			return result{}, Expired
		}
	}
	if k == nil {
		k = &plainClient{id: c.ID.Client, since: p.forgotten, results: map[uint64]result{}}
		if c.Answered > 0 {
			k.floor = c.Answered - 1
		}
	}
	p.clients = append(slices.DeleteFunc(p.clients, func(o *plainClient) bool { return o == k }), k)
	k.used = index
	k.results[c.ID.Seq] = result{index}
	if len(k.results) > p.bounds.PerClient {
		k.dropLowest()
	}
	all := 0
	for _, c := range p.clients {
		all += len(c.results)
	}
	if all > p.bounds.Results {
		p.clients[slices.IndexFunc(p.clients, func(c *plainClient) bool { return len(c.results) > 0 })].dropLowest()
	}
	if len(p.clients) > p.bounds.Clients {
		p.forgotten = max(p.forgotten, p.clients[0].used)
		p.clients = p.clients[1:]
	}
	return result{index}, Unknown
}

// same compares everything that is remembered.
func same(t *testing.T, d *table, p *plain) {
	t.Helper()
	list := images(d)
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
	waiting []Request // in the order of their numbers; sent or not, and not answered
	old     []Request // answered; may still arrive once more
}

// Random clients under small bounds: what is remembered is as in the plain model, and no request is ever applied twice.
func TestTable_RandomClients_AsInThePlainModelAndNothingTwice(t *testing.T) {
	for seed := range uint64(60) {
		die := rand.New(rand.NewPCG(seed, 3))
		b := Bounds{PerClient: 1 + die.IntN(6), Results: 3 + die.IntN(12), Clients: 1 + die.IntN(5)}
		if b.Results < b.PerClient {
			b.Results = b.PerClient
		}
		d, p := newTable[result](b), &plain{bounds: b}
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
					below = s.waiting[0].ID.Seq
				}
				if seed%3 == 0 {
					below = 0 // an older version
				}
				// The sender's member may be behind.
				s.waiting = append(s.waiting, Request{ID: RequestID{s.id, s.last}, Answered: below, Seen: max(1, index-min(index, 1+uint64(die.IntN(3))))})
			}
			at := die.IntN(len(s.waiting))
			c := s.waiting[at]
			if len(s.old) > 0 && die.IntN(4) == 0 {
				c = s.old[die.IntN(len(s.old))]
			}
			r, v := d.Find(c)
			if v == Unknown {
				if applied[c.ID] {
					t.Fatalf("seed %d, command %d: request %v is applied twice", seed, index, c.ID)
				}
				applied[c.ID] = true
				r = result{index}
				d.Keep(c, index, r)
			}
			if want, wantV := p.apply(index, c); r != want || v != wantV {
				t.Fatalf("seed %d, command %d: got %+v, %v; want %+v, %v", seed, index, r, v, want, wantV)
			}
			if v == Expired {
				expired++
			} else {
				answered++
			}
			if die.IntN(3) != 0 { // else the answer is lost
				if i := slices.IndexFunc(s.waiting, func(w Request) bool { return w.ID == c.ID }); i >= 0 {
					s.old = append(s.old, c)
					s.waiting = slices.Delete(s.waiting, i, i+1)
				}
			}
			same(t, d, p)
			if die.IntN(50) == 0 {
				d = d.Clone()
			}
			if die.IntN(50) == 0 {
				again := newTable[result](b)
				again.RestoreForgotten(d.Forgotten())
				for _, c := range images(d) {
					if err := again.Restore(&c); err != nil {
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
func TestTable_Clone_ChangesIndependently(t *testing.T) {
	d := New[result]()
	put := func(d *table, client byte, seq, answered uint64) {
		q := Request{ID: RequestID{Client{client}, seq}, Answered: answered}
		if _, v := d.Find(q); v == Unknown {
			d.Keep(q, seq, result{seq})
		}
	}
	for seq := range uint64(100) {
		put(d, byte(seq%7), seq+1, 0)
	}
	want := fmt.Sprint(images(d))
	c := d.Clone()
	if got := fmt.Sprint(images(c)); got != want || c.Len() != d.Len() {
		t.Fatalf("the clone has %s, want %s", got, want)
	}
	for seq := uint64(101); seq < 300; seq++ {
		put(c, byte(seq%9), seq, seq-20)
	}
	if got := fmt.Sprint(images(d)); got != want {
		t.Errorf("the original has %s, want %s", got, want)
	}
	want = fmt.Sprint(images(c))
	for seq := uint64(101); seq < 300; seq++ {
		put(d, byte(seq%5), seq, seq-3)
	}
	if got := fmt.Sprint(images(c)); got != want {
		t.Errorf("the clone has %s, want %s", got, want)
	}
}

// What is remembered of one busy client takes the same memory after ten thousand requests as after two hundred thousand.
func TestTable_ManyRequests_NoMoreMemory(t *testing.T) {
	for name, behind := range map[string]uint64{"it acknowledges": 10, "it acknowledges nothing": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			d := New[[6]uint64]() // as large as a result of the state
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
					q := Request{ID: RequestID{Client{1}, n + 1}, Answered: n + 1 - min(n+1, behind)}
					d.Find(q)
					d.Keep(q, n, [6]uint64{n})
				}
				return live()
			}
			first := until(10_000)
			if grown := until(200_000) - first; grown > 300<<10 {
				t.Errorf("%d bytes more", grown)
			}
			runtime.KeepAlive(d)
		})
	}
}
