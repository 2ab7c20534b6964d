package histories

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// client asks any member for anything, one call after the other.
type client struct {
	g      *group
	id     int
	die    *rand.Rand
	n      int
	reigns []*raftstate.Reign   // those that the client has seen, the newest last; they may be over
	newest *atomic.Uint64       // the newest term of a leader that any client has seen
	taken  map[string]ids.Actor // names that this client has
	jobs   *jobs
}

// jobs is what all clients know of the jobs that they have started.
type jobs struct {
	acknowledged chan startedJob
}

type startedJob struct {
	entry string
	id    ids.Job
}

const namespace = "histories"

var (
	keys  = []string{"k1", "k2", "k3"}
	names = []string{"n1", "n2"}
)

// run makes calls until the time is over.
func (c *client) run(until time.Time) {
	for time.Now().Before(until) {
		time.Sleep(time.Duration(c.die.Int64N(int64(50 * time.Millisecond))))
		l := c.g.members[c.die.IntN(len(c.g.members))].now()
		if l == nil {
			continue
		}
		limit := 200*time.Millisecond + time.Duration(c.die.Int64N(int64(3*time.Second)))
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		c.one(ctx, l.node)
		cancel()
	}
}

// one makes a call at a member.
func (c *client) one(ctx context.Context, n *raftstate.Node) {
	c.n++
	key, value := keys[c.die.IntN(len(keys))], fmt.Sprintf("%d.%d", c.id, c.n)
	name := names[c.die.IntN(len(names))]
	switch x := c.die.IntN(20); {
	case x < 5:
		c.read(ctx, call{verb: get, name: key})
	case x < 7:
		c.read(ctx, call{verb: lookup, name: name})
	case x < 9:
		c.change(ctx, n, call{put, key, value})
	case x < 12:
		c.decide(ctx, call{put, key, value})
	case x < 15:
		c.change(ctx, n, call{add, key, value})
	case x < 17:
		c.change(ctx, n, call{del, key, ""})
	case x < 19:
		if a, has := c.taken[name]; has {
			c.change(ctx, n, call{leave, name, a.String()})
		} else {
			c.change(ctx, n, call{take, name, c.actor().String()})
		}
	default:
		c.start(ctx, n, value)
	}
}

// actor returns an id that no other call uses.
func (c *client) actor() (a ids.Actor) {
	binary.BigEndian.PutUint32(a[:], uint32(c.id+1))
	binary.BigEndian.PutUint32(a[4:], uint32(c.n))
	return a
}

// reign returns a member's present time as leader, as far as the member knows; nil if none leads.
func (c *client) reign() *raftstate.Reign {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for _, i := range c.die.Perm(len(c.g.members)) {
		m := c.g.members[i]
		l := m.now()
		if l == nil {
			continue
		}
		if r, err := l.node.Lead(now); err == nil {
			if k := len(c.reigns); k == 0 || c.reigns[k-1] != r {
				c.reigns = append(c.reigns, r)
			}
			for old := c.newest.Load(); r.Term() > old && !c.newest.CompareAndSwap(old, r.Term()); old = c.newest.Load() {
			}
			return r
		}
	}
	return nil
}

// read asks a leader.
func (c *client) read(ctx context.Context, q call) {
	r := c.reign()
	if r == nil {
		return
	}
	begun := c.g.notes.begin()
	if err := r.Fresh(ctx); err != nil {
		return // nothing was read
	}
	a := reply{known: true}
	if q.verb == get {
		v, _, err := r.GetKV(ctx, namespace, q.name)
		if err != nil {
			return // nothing was read
		}
		a.value = unfilled(v)
	} else if who, ok := r.ActorNamed(namespace, q.name); ok {
		a.value = who.ID.String()
	}
	c.g.notes.end(c.id, begun, q, a)
}

// changes is what both a member and a leader do.
type changes interface {
	PutKV(ctx context.Context, namespace, key string, value []byte, overwrite bool) (bool, error)
	DelKV(ctx context.Context, namespace, key string, prefix bool) (int, error)
	RegisterActor(ctx context.Context, a record.Actor) error
	ActorDead(ctx context.Context, id ids.Actor, incarnation uint64, c record.Cause, atMs int64) error
}

// decide makes a change as a leader, or as one that leads no more and does not know it.
func (c *client) decide(ctx context.Context, q call) {
	r := c.reign()
	if k := len(c.reigns); k > 0 && c.die.IntN(2) == 0 {
		r = c.reigns[max(0, k-1-c.die.IntN(4))]
	}
	if r == nil {
		return
	}
	newest := c.newest.Load()
	if c.change(ctx, r, q) && r.Term() < newest {
		c.g.notes.fail("%s: a decision of the leader of term %d was carried out when one of term %d led already", describe(q, reply{}), r.Term(), newest)
	}
}

// change makes a change, and reports whether it is known to be made.
func (c *client) change(ctx context.Context, at changes, q call) bool {
	begun := c.g.notes.begin()
	a := reply{known: true}
	var err error
	switch q.verb {
	case put, add:
		a.ok, err = at.PutKV(ctx, namespace, q.name, filled(q.value, c.n), q.verb == put)
	case del:
		var n int
		n, err = at.DelKV(ctx, namespace, q.name, false)
		a.ok = n == 1
	case take:
		id := c.actor()
		err = at.RegisterActor(ctx, record.Actor{ID: id, Name: q.name, Namespace: namespace})
		var taken *record.NameTakenError
		switch {
		case err == nil:
			a.ok = true
			c.taken[q.name] = id
		case errors.As(err, &taken):
			a.value, err = taken.Existing.String(), nil
		}
	case leave:
		err = at.ActorDead(ctx, c.taken[q.name], 0, record.Cause{Reason: record.Killed}, 1)
		a.ok = err == nil
		if err == nil || errors.Is(err, record.ErrMayHaveBeenApplied) {
			delete(c.taken, q.name)
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, record.ErrMayHaveBeenApplied):
		a = reply{}
	case errors.Is(err, record.ErrDead), errors.Is(err, record.ErrNotFound), errors.Is(err, record.ErrExists):
		a.ok = false // what no call here may be told: the model says so
		a.value = err.Error()
	default:
		c.g.notes.undone(c.id, begun, q, err)
		return false // it is certain that nothing was changed
	}
	c.g.notes.end(c.id, begun, q, a)
	return err == nil
}

// start starts a job. Each call has an entrypoint of its own, so that a job that is there twice shows.
func (c *client) start(ctx context.Context, n *raftstate.Node, entry string) {
	id, err := n.StartJob(ctx, record.Job{Entrypoint: entry})
	if err == nil {
		c.jobs.acknowledged <- startedJob{entry, id}
	}
}
