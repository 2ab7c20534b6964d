package histories

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// Histories: clients change and read the state of three or five members while these are killed, cut off, stalled and started again.
// Each seed gives a plan of calls and of blows. What the clients were told is checked with Porcupine: one order of all calls has to
// explain it. The time of a history is that of testing/synctest, so ten seconds take a fraction of one, and goroutines run as the machine
// has them run: a seed repeats the plan, and nearly the same history.

var (
	seeds = flag.Uint64("histories.seeds", usualSeeds, "how many histories")
	first = flag.Uint64("histories.first", 1, "the first seed")
	stop  = flag.Bool("histories.stop", usualStop, "end with the first history that fails")
	plans = flag.Bool("histories.plans", false, "print what was done to the members of a history that fails")
)

const (
	clients = 5
	span    = 8 * time.Second // of the calls and blows of a history
	settle  = 60 * time.Second
	calm    = 3 * time.Second // until nothing that a client has given up is under way
)

// outcome is what came of a history.
type outcome struct {
	wrong     []string
	undecided bool
	calls     int
	doubt     int
	leaders   uint64 // terms
	snapshots int64  // sent to members that were far behind
	plan      []string
}

// sizeOf is how many members a seed's history has.
func sizeOf(seed uint64) int { return 3 + 2*int(seed%2) }

// history plays a seed.
func history(t *testing.T, seed uint64) (o outcome) {
	n := &notes{}
	dir, err := os.MkdirTemp("", "histories")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	synctest.Test(t, func(*testing.T) {
		g := newGroup(seed, sizeOf(seed), dir, n)
		o.plan, o.leaders = play(g, seed)
		o.snapshots = g.net.sent.Load()
	})
	o.wrong, o.undecided = n.judge()
	o.calls, o.doubt = len(n.calls), n.doubt
	return o
}

func play(g *group, seed uint64) (plan []string, terms uint64) {
	each(g.members, g.start)
	begun := time.Now()
	until := begun.Add(span)
	var newest atomic.Uint64
	j := &jobs{acknowledged: make(chan startedJob, 10_000)}
	var all sync.WaitGroup
	for i := range clients {
		c := &client{g: g, id: i, die: rand.New(rand.NewPCG(seed, 100+uint64(i))), newest: &newest, taken: map[string]ids.Actor{}, jobs: j}
		all.Go(func() { c.run(until) })
	}
	die := rand.New(rand.NewPCG(seed, 13))
	for time.Now().Before(until) {
		time.Sleep(time.Duration(die.Int64N(int64(500 * time.Millisecond))))
		at := time.Since(begun).Round(time.Millisecond)
		plan = append(plan, fmt.Sprintf("%v: %s", at, g.strike(die)))
	}
	g.net.heal()
	all.Wait()
	for _, m := range g.members {
		if m.now() == nil {
			g.start(m)
		}
	}
	close(j.acknowledged)
	g.end(&client{g: g, id: clients, die: die, newest: &newest, jobs: j})
	each(g.members, func(m *member) { g.kill(m, false) })
	g.net.late.Wait()
	return plan, newest.Load()
}

// end reads everything when nothing disturbs the members any more, and compares them.
func (g *group) end(c *client) {
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	g.net.late.Wait()
	time.Sleep(calm)
	var r *raftstate.Reign
	for r == nil || r.Fresh(ctx) != nil {
		if ctx.Err() != nil {
			g.notes.fail("no member leads %v after everything was mended", settle)
			return
		}
		time.Sleep(50 * time.Millisecond)
		r = c.reign()
	}
	for _, k := range keys {
		c.read(ctx, call{verb: get, name: k})
	}
	for _, k := range names {
		c.read(ctx, call{verb: lookup, name: k})
	}
	want := everything(r)
	_, applied := r.Indexes()
	for _, m := range g.members {
		l := m.now()
		if l == nil {
			continue // it was told why
		}
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			if _, has := l.node.Indexes(); has >= applied && everything(l.node) == want {
				break
			}
		}
		if got := everything(l.node); got != want {
			g.notes.fail("member %s and member %s have different states:\n%s\n%s", m.id, r.Self(), got, want)
		}
	}
	g.checkJobs(r, c.jobs)
}

// reader is a member or a leader.
type reader interface {
	KVKeys(namespace, prefix string) []string
	GetKV(ctx context.Context, namespace, key string) ([]byte, bool, error)
	ActorNamed(namespace, actor string) (record.Actor, bool)
	ListJobs() []record.Job
}

// everything is the state of a member, as far as clients change it.
func everything(n reader) string {
	var b strings.Builder
	for _, k := range n.KVKeys(namespace, "") {
		v, _, err := n.GetKV(context.Background(), namespace, k)
		fmt.Fprintf(&b, "%s=%s ", k, valueText(v, err))
	}
	for _, name := range names {
		if a, ok := n.ActorNamed(namespace, name); ok {
			fmt.Fprintf(&b, "%s=%s ", name, a.ID)
		}
	}
	for _, j := range n.ListJobs() {
		fmt.Fprintf(&b, "%d:%s ", record.JobNumber(j.ID), j.Entrypoint)
	}
	return b.String()
}

// checkJobs checks that each job was started once, and that those are there whose number was told.
func (g *group) checkJobs(r *raftstate.Reign, j *jobs) {
	byEntry := map[string]ids.Job{}
	for _, job := range r.ListJobs() {
		if other, twice := byEntry[job.Entrypoint]; twice {
			g.notes.fail("the request %s started the jobs %s and %s", job.Entrypoint, other, job.ID)
		}
		byEntry[job.Entrypoint] = job.ID
	}
	for a := range j.acknowledged {
		if byEntry[a.entry] != a.id {
			g.notes.fail("the request %s was told that it has started job %s, and there is %s", a.entry, a.id, byEntry[a.entry])
		}
	}
}

// TestHistories plays some seeds; more with `make histories`.
func TestHistories(t *testing.T) {
	calls, doubt, undecided, terms, snapshots := 0, 0, 0, uint64(0), int64(0)
	for seed := *first; seed < *first+*seeds; seed++ {
		o := history(t, seed)
		calls, doubt, terms, snapshots = calls+o.calls, doubt+o.doubt, terms+o.leaders, snapshots+o.snapshots
		if o.undecided {
			undecided++
			t.Logf("seed %d: Porcupine did not decide in time", seed)
		}
		if len(o.wrong) > 0 {
			t.Errorf("seed %d, %d members:\n%s", seed, sizeOf(seed), strings.Join(o.wrong, "\n"))
			if *plans {
				t.Logf("what was done to them:\n%s", strings.Join(o.plan, "\n"))
			}
			if *stop {
				return
			}
		}
	}
	t.Logf("%d histories, %d calls, of which %d with an outcome that is not known; %d terms, %d snapshots sent to members; %d histories not decided",
		*seeds, calls, doubt, terms, snapshots, undecided)
	if n := int(*seeds); calls < 50*n || undecided*50 > n || terms < 3**seeds || snapshots*4 < int64(n) {
		t.Errorf("they show too little")
	}
}
