package histories

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/raftlog"
	"github.com/eagleray/eagleray/raftstate"
)

// hasty makes elections short, against messages that take some milliseconds.
var hasty = raftstate.Timing{Heartbeat: 300 * time.Millisecond, Election: 300 * time.Millisecond, Lease: 300 * time.Millisecond, Commit: 20 * time.Millisecond}

// member is one head: what survives its death, and its present life.
type member struct {
	id  string
	dir string

	mu   sync.Mutex
	life *life // nil: it is dead
}

// life is a member from its start to its death.
type life struct {
	node *raftstate.Node
	end  *end
	disk *frailDisk
	log  *slowLog
	dir  *raftlog.Dir

	values *values
}

func (m *member) now() *life {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.life
}

// group is all members.
type group struct {
	net     *network
	members []*member
	die     *rand.Rand // of lost writes
	notes   *notes
}

func newGroup(seed uint64, size int, dir string, n *notes) *group {
	g := &group{net: newNetwork(seed), die: rand.New(rand.NewPCG(seed, 12)), notes: n}
	for i := range size {
		id := string(rune('a' + i))
		g.members = append(g.members, &member{id: id, dir: filepath.Join(dir, id)})
	}
	return g
}

// start starts a member on what its disk has.
func (g *group) start(m *member) {
	disk := newFrailDisk()
	dir, err := raftlog.Open(m.dir, raftlog.Options{Log: slog.New(slog.DiscardHandler), Disk: disk, SegmentSize: 32 << 10})
	if err != nil {
		g.notes.fail("member %s does not start again: %v", m.id, err)
		return
	}
	l := &life{end: g.net.attach(m.id), disk: disk, dir: dir}
	stores := dir.Stores()
	l.log = &slowLog{LogStore: stores.Log, net: g.net}
	stores.Log = l.log
	if l.values, err = g.openValues(m); err != nil {
		g.notes.fail("member %s does not start again: %v", m.id, err)
		_ = dir.Close()
		return
	}
	o := raftstate.Options{ID: m.id, Blobs: l.values, Transport: l.end, Forwarder: l.end, Stores: stores, Timing: hasty, CompactEntries: 20, TrailingLogs: 3}
	for _, x := range g.members {
		o.Voters = append(o.Voters, raftstate.Voter{ID: x.id, Address: x.id})
	}
	if l.node, err = raftstate.Open(o); err != nil {
		g.notes.fail("member %s does not start again: %v", m.id, err)
		l.values.end()
		_ = dir.Close()
		return
	}
	l.values.begin(l.node)
	g.net.roll(func(*rand.Rand) { l.end.node = l.node })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life = l
}

// kill ends a member in an instant: from now on it says nothing, and its disk takes nothing. When the power is cut, what was
// not synced may be lost. It returns when the member can be started again.
func (g *group) kill(m *member, power bool) {
	m.mu.Lock()
	l := m.life
	m.life = nil
	m.mu.Unlock()
	if l == nil {
		return
	}
	l.end.detach()
	l.disk.die()
	if err := l.node.Close(); err != nil {
		g.notes.fail("member %s is closed: %v", m.id, err)
	}
	l.values.end()
	_ = l.dir.Close() // its disk is dead
	if power {
		if err := l.disk.lose(g.die); err != nil {
			g.notes.fail("member %s loses what was not synced: %v", m.id, err)
		}
	}
}

// each does something with some members at the same time.
func each(members []*member, do func(*member)) {
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(func() { do(m) })
	}
	all.Wait()
}

// strike does one thing to the members.
func (g *group) strike(die *rand.Rand) string {
	n := len(g.members)
	order := die.Perm(n)
	one, other := g.members[order[0]], g.members[order[1]]
	if l := one.now(); l != nil && die.IntN(2) == 0 { // the leader is worth more
		for _, m := range g.members {
			if m.id == l.node.Leader() {
				one = m
			}
		}
	}
	power := die.IntN(2) == 0
	pause := time.Duration(die.Int64N(int64(time.Second)))
	switch die.IntN(15) {
	case 0, 1:
		g.kill(one, power)
		time.Sleep(pause)
		g.start(one)
		return "kill " + one.id
	case 2:
		several := g.members[:1+die.IntN(n)]
		g.killTogether(several, power)
		time.Sleep(pause)
		each(several, g.start)
		return fmt.Sprint("kill the first ", len(several))
	case 3, 4:
		g.isolate(one)
		time.Sleep(pause * 2)
		return "isolate " + one.id
	case 13: // it does not notice while it waits for its disk
		if l := one.now(); l != nil {
			l.log.stalls(pause * 2)
			time.Sleep(pause / 8)
			g.isolate(one)
			time.Sleep(pause * 2)
			l.log.stalls(0)
		}
		return "stall and isolate " + one.id
	case 5:
		minority := order[:n/2]
		for _, i := range minority {
			for _, k := range order[n/2:] {
				g.net.cut(g.members[i].id, g.members[k].id)
				g.net.cut(g.members[k].id, g.members[i].id)
			}
		}
		time.Sleep(pause * 2)
		return "split"
	case 6:
		for _, m := range g.members {
			g.net.cut(one.id, m.id)
		}
		time.Sleep(pause * 2)
		return one.id + " is not heard"
	case 7:
		g.net.cut(one.id, other.id)
		time.Sleep(pause)
		return one.id + " is not heard by " + other.id
	case 8:
		if l := one.now(); l != nil {
			l.log.stalls(time.Duration(die.Int64N(int64(400 * time.Millisecond))))
			time.Sleep(pause)
			l.log.stalls(0)
		}
		return "stall " + one.id
	case 9:
		if l := one.now(); l != nil {
			g.kill(one, power)
			g.start(one)
		}
		return "restart of " + one.id
	case 10, 11:
		if g.transfer(pause) && die.IntN(2) == 0 {
			g.transfer(pause)
		}
		return "another one leads"
	case 12:
		g.net.heal()
		time.Sleep(pause)
		return "heal"
	}
	return "nothing"
}

// isolate cuts a member off from all others.
func (g *group) isolate(one *member) {
	for _, m := range g.members {
		if m != one {
			g.net.cut(one.id, m.id)
			g.net.cut(m.id, one.id)
		}
	}
}

// transfer lets another member lead, if one leads and another one can.
func (g *group) transfer(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, m := range g.members {
		l := m.now()
		if l == nil || l.node.Leader() != m.id {
			continue
		}
		if r, err := l.node.Lead(ctx); err == nil {
			return r.TransferTo(ctx, "") == nil
		}
	}
	return false
}

// killTogether kills members at the same instant.
func (g *group) killTogether(members []*member, power bool) {
	for _, m := range members {
		if l := m.now(); l != nil {
			l.end.detach()
			l.disk.die()
		}
	}
	for _, m := range members {
		g.kill(m, power)
	}
}
