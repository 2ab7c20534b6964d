package refs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// Several processes, each with a table, run random programs: they put values
// with references inside, call each other with references, keep some of what
// they got, return others, and let go. Messages arrive late, in the order of
// their connection. The oracle knows which references the programs hold and what
// is inside each value. From that alone it knows which objects must be alive.

// society is all processes and the messages between them.
type society struct {
	t       *testing.T
	r       *rand.Rand
	seed    uint64
	members []*member
	links   map[stream][]parcel // what was sent from one member to another and has not arrived
	sockets []*playedSocket
	inside  map[ids.Object][]ids.Object
	sent    map[ids.Object][]ids.Object // what is inside results that may not have arrived
	slow    stream                      // the connection whose messages arrive last
	log     []string
	nodes   *nodesWorld // whose members these are; nil: all run on one node, and hear of an end at once
}

// parcel is a message on its way.
type parcel struct {
	arrives func()
	sent    time.Duration
}

// member is one process: its table, and what its program holds.
type member struct {
	s          *society
	name       string
	owner      ids.Owner
	table      *Table
	holds      map[ids.Object]int        // references of its program
	calls      map[ids.Task][]ids.Object // arguments of its calls that have no answer, pinned
	running    []*execution
	freed      map[ids.Object]int
	asks       map[uint64]*playedAsk // questions of borrowers, by their number
	unacked    map[*member]int       // references that this owner has not acknowledged
	serves     map[ids.Task]*member  // who runs a call of ours
	lastAsk    uint64
	lastID     uint64
	lastSocket uint64
	dead       bool
	lost       map[*member]bool // others of whose end it has heard
}

// execution is a call that a member runs for another one.
type execution struct {
	caller *member
	task   ids.Task
	out    ids.Object // what it returns
	args   []ids.Object
	on     *playedSocket // through which the call came
}

func newSociety(t *testing.T, seed uint64, size int) *society {
	s := &society{t: t, r: rand.New(rand.NewPCG(seed, 31)), seed: seed, links: map[stream][]parcel{}, inside: map[ids.Object][]ids.Object{}, sent: map[ids.Object][]ids.Object{}}
	for i := range size {
		m := &member{
			s: s, name: fmt.Sprintf("p%d", i), owner: ids.Owner{byte(i + 1)}, holds: map[ids.Object]int{}, calls: map[ids.Task][]ids.Object{},
			freed: map[ids.Object]int{}, asks: map[uint64]*playedAsk{}, unacked: map[*member]int{}, serves: map[ids.Task]*member{}, lost: map[*member]bool{},
		}
		m.table = NewTable(m.owner, ids.JobOf(1), m.name, m)
		s.members = append(s.members, m)
	}
	return s
}

func (s *society) at(addr string) *member {
	for _, m := range s.members {
		if m.name == addr {
			return m
		}
	}
	panic("no process at " + addr)
}

func (s *society) ownerOf(id ids.Object) *member { return s.members[id.Owner()[0]-1] }

func (s *society) send(from, to *member, f func()) {
	if !from.dead && !to.dead {
		s.post(stream{from, to, nil}, f)
	}
}

// post puts a message on a connection.
func (s *society) post(k stream, f func()) {
	s.links[k] = append(s.links[k], parcel{f, s.now()})
}

// now is the time of the world.
func (s *society) now() time.Duration {
	if s.nodes == nil {
		return 0
	}
	return s.nodes.time
}

// underWay returns the connections on which something is on its way, in an order that is the same for each seed.
func (s *society) underWay() (some []stream) {
	add := func(k stream) {
		if len(s.links[k]) > 0 {
			some = append(some, k)
		}
	}
	for _, from := range s.members {
		for _, to := range s.members {
			add(stream{from, to, nil})
		}
	}
	for _, k := range s.sockets {
		add(stream{k.caller, k.worker, k})
		add(stream{k.worker, k.caller, k})
	}
	return some
}

// deliver has the first message of a random connection arrive. It returns false when there is none.
func (s *society) deliver() bool {
	some := s.underWay()
	if len(some) == 0 {
		return false
	}
	if s.r.IntN(30) == 0 {
		s.slow = some[s.r.IntN(len(some))]
	}
	if fast := slices.DeleteFunc(slices.Clone(some), func(k stream) bool { return k == s.slow }); len(fast) > 0 {
		some = fast
	}
	s.arrive(some[s.r.IntN(len(some))])
	return true
}

// arrive has the first message of a connection arrive.
func (s *society) arrive(k stream) {
	f := s.links[k][0].arrives
	s.links[k] = s.links[k][1:]
	f()
}

func short(id ids.Object) string { return fmt.Sprintf("%d of p%d", id.Count(), id.Owner()[0]-1) }

// moves replaces the table by one that is restored from its snapshot. What the
// program and its calls hold, they hold again.
func (m *member) moves() {
	m.s.note("%s moves", m.name)
	for _, k := range slices.Clone(m.s.sockets) {
		if k.worker == m { // its process ends, and its answers have left
			m.s.breaks(k, false)
		}
	}
	m.carryOut()
	old := m.table
	m.table = successorOf(m.s.t, old, m)
	for id, n := range m.holds {
		m.object(id).local = int32(n)
	}
	for _, args := range m.calls {
		for _, id := range args {
			m.table.Pin(m.object(id))
		}
	}
	for _, d := range old.lateDrops { // the program let go of them, and the table has not yet
		m.object(d.Object).local++
	}
	old.Each(func(o *Object) bool { // questions are handed over with the connections through which they came
		for _, q := range o.Questions() {
			m.table.Question(m.object(o.ID), q)
		}
		for _, q := range o.PatientQuestions() {
			m.table.PatientQuestion(m.object(o.ID), q)
		}
		return true
	})
	m.table.Sweep()
	m.table.Drop(old.lateDrops)
	m.carryOut()
}

// dies ends a process: what it had sent and not delivered is lost, and all others hear of its end.
func (m *member) dies() {
	s := m.s
	s.note("%s dies", m.name)
	m.dead = true
	m.holds, m.running = map[ids.Object]int{}, nil
	s.socketsOf(m)
	for _, other := range s.members {
		delete(s.links, stream{m, other, nil})
		delete(s.links, stream{other, m, nil})
		if other.dead {
			continue
		}
		t := other.table
		other.lost[m] = true
		t.BorrowerGone(m.owner)
		t.OwnerGone(m.name)
		for _, x := range slices.Clone(t.Retained()) {
			if x.Worker() == m.name {
				t.WorkerRegistered(x, true)
			}
		}
		for task, w := range other.serves {
			if w == m {
				for _, id := range other.calls[task] {
					t.Unpin(other.object(id))
				}
				delete(other.calls, task)
				delete(other.serves, task)
			}
		}
		if n := other.unacked[m]; n > 0 {
			delete(other.unacked, m)
			other.registered(n)
		}
		other.carryOut()
	}
}

func (s *society) fail(format string, args ...any) {
	if s.nodes != nil {
		panic(fmt.Sprintf(format, args...))
	}
	s.t.Helper()
	s.t.Fatalf("seed %d: %s\nafter:\n%s", s.seed, fmt.Sprintf(format, args...), s.history())
}

func (s *society) note(format string, args ...any) {
	if s.nodes != nil {
		s.nodes.log.Note("%v "+format, append([]any{s.nodes.time}, args...)...)
		return
	}
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// history is what happened last.
func (s *society) history() (text string) {
	for _, line := range s.log[max(0, len(s.log)-60):] {
		text += line + "\n"
	}
	return text
}
