package raftstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
)

// quick makes elections short; a loaded machine may then lose a leader, which
// no test minds.
var quick = Timing{Heartbeat: 200 * time.Millisecond, Election: 200 * time.Millisecond, Lease: 150 * time.Millisecond, Commit: 10 * time.Millisecond}

// cluster is a group of three.
type cluster struct {
	t      *testing.T
	ctx    context.Context
	net    *MemoryNet
	nodes  map[string]*Node
	stores map[string]Stores
}

var memberIDs = []string{"a", "b", "c"}

func openCluster(t *testing.T) *cluster {
	c := &cluster{t: t, ctx: testContext(t), net: NewMemoryNet(memberIDs...), nodes: map[string]*Node{}, stores: map[string]Stores{}}
	for _, id := range memberIDs {
		c.stores[id] = NewMemoryStores()
		c.open(id)
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

func (c *cluster) open(id string) {
	n, err := c.net.Open(id, Options{Timing: quick, Stores: c.stores[id], TrailingLogs: 100})
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes[id] = n
}

// leader returns the member that leads, and the others, beside those excepted.
func (c *cluster) leader(except string) (leader *Node, followers []*Node) {
	c.t.Helper()
	for c.ctx.Err() == nil {
		for _, id := range memberIDs {
			n := c.nodes[id]
			if id == except || n.raft.State() != raft.Leader {
				continue
			}
			for _, other := range memberIDs {
				if other != id && other != except {
					followers = append(followers, c.nodes[other])
				}
			}
			return n, followers
		}
		for _, n := range c.nodes {
			if n.opts.ID != except {
				_ = n.pause(c.ctx, n.leaderWake())
				break
			}
		}
	}
	c.t.Fatal("no leader")
	return nil, nil
}

// agree waits until all members have applied what the leader has, and compares.
func (c *cluster) agree() {
	c.t.Helper()
	last := uint64(0)
	for _, n := range c.nodes {
		n.fsm.view(func(m *Machine) { last = max(last, m.index) })
	}
	var want []byte
	for _, id := range memberIDs {
		n := c.nodes[id]
		if err := n.catchUp(c.ctx, last); err != nil {
			c.t.Fatalf("member %s: %v", id, err)
		}
		n.fsm.view(func(m *Machine) {
			got := snapshot(c.t, m)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				c.t.Errorf("member %s differs from member %s", id, memberIDs[0])
			}
		})
	}
}

func (c *cluster) put(n *Node, key string) {
	c.t.Helper()
	if _, err := n.PutKV(c.ctx, "ns", key, []byte(key), true); err != nil {
		c.t.Fatalf("member %s: %v", n.opts.ID, err)
	}
	// What a member wrote it can read.
	if v, ok := valueOf(c.t, n, "ns", key); !ok || string(v) != key {
		c.t.Errorf("member %s reads %q after its write", n.opts.ID, v)
	}
}

func TestCluster_AnyMemberWrites_AllAgree(t *testing.T) {
	c := openCluster(t)
	var writers sync.WaitGroup
	for id, n := range c.nodes {
		for i := range 4 {
			writers.Go(func() {
				for k := range 20 {
					c.put(n, fmt.Sprint(id, i, k))
				}
			})
		}
	}
	writers.Wait()
	c.agree()
	if n := len(c.nodes["a"].KVKeys("ns", "")); n != 3*4*20 {
		t.Errorf("%d keys", n)
	}
}

func TestCluster_LeaderLost_WritesGoOnAndNothingIsLost(t *testing.T) {
	c := openCluster(t)
	first, followers := c.leader("")
	lost := first.opts.ID
	for i := range 20 {
		c.put(followers[0], fmt.Sprint("before", i))
	}
	c.net.Cut(lost, true)
	// Under way over the loss: each applies once.
	var writers sync.WaitGroup
	jobs := make(chan record.Job, 40)
	for i := range 40 {
		writers.Go(func() {
			id, err := followers[i%2].StartJob(c.ctx, record.Job{Entrypoint: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			}
			jobs <- record.Job{ID: id}
		})
	}
	writers.Wait()
	close(jobs)
	c.net.Cut(lost, false)
	c.put(first, "again")
	c.agree()
	if n := len(first.ListJobs()); n != 40 {
		t.Errorf("40 jobs were started, there are %d", n)
	}
	seen := map[uint32]bool{}
	for j := range jobs {
		seen[record.JobNumber(j.ID)] = true
	}
	if len(seen) != 40 {
		t.Errorf("%d different numbers", len(seen))
	}
	for i := range 20 {
		if _, ok := valueOf(t, first, "ns", fmt.Sprint("before", i)); !ok {
			t.Errorf("write %d is lost", i)
		}
	}
}

func TestCluster_MemberBehindACompactedLog_GetsTheSnapshot(t *testing.T) {
	c := openCluster(t)
	_, followers := c.leader("")
	behind := followers[0]
	at := behind.Now()
	c.net.Cut(behind.opts.ID, true)
	leader, _ := c.leader(behind.opts.ID)
	var writers sync.WaitGroup
	for i := range 300 { // more entries than a follower may lag
		writers.Go(func() {
			if _, err := leader.PutKV(c.ctx, "ns", fmt.Sprint(i%100), nil, true); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	leader, _ = c.leader(behind.opts.ID)
	if err := leader.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	c.net.Cut(behind.opts.ID, false)
	c.put(behind, "back")
	c.agree()
	if _, err := behind.Watch(c.ctx, at); !errors.Is(err, record.ErrCompacted) {
		t.Errorf("got %v", err)
	}
}

func TestCluster_MemberRestarts_CatchesUp(t *testing.T) {
	c := openCluster(t)
	_, followers := c.leader("")
	id := followers[0].opts.ID
	c.put(followers[0], "before")
	if err := followers[0].Close(); err != nil {
		t.Fatal(err)
	}
	c.put(followers[1], "while it was away")
	c.open(id)
	c.put(c.nodes[id], "after")
	c.agree()
}

func TestCluster_NoMajority_SaysWhetherItMayBeApplied(t *testing.T) {
	c := openCluster(t)
	leader, followers := c.leader("")
	c.put(followers[0], "before")
	c.net.Cut(leader.opts.ID, true)
	c.net.Cut(followers[0].opts.ID, true)
	ctx, cancel := context.WithTimeout(c.ctx, 3*quick.Heartbeat)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { // it put the command into its log before it stepped down
		_, err := leader.PutKV(ctx, "ns", "k", nil, true)
		if !errors.Is(err, record.ErrMayHaveBeenApplied) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the old leader: got %v", err)
		}
	})
	both.Go(func() {
		if _, err := followers[0].PutKV(ctx, "ns", "k", nil, true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a follower: got %v", err)
		}
	})
	both.Wait()
	c.net.Cut(leader.opts.ID, false)
	c.net.Cut(followers[0].opts.ID, false)
	c.put(followers[0], "after")
	c.agree()
}

// lossy is a forwarder that loses the answers to the first commands.
type lossy struct {
	Forwarder
	mu   sync.Mutex
	lose int
}

func (l *lossy) Forward(ctx context.Context, id, address string, command []byte) ([]byte, error) {
	b, err := l.Forwarder.Forward(ctx, id, address, command)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose > 0 {
		l.lose--
		return nil, errors.New("the answer is lost")
	}
	return b, err
}

func TestCluster_AnswerLost_AppliesOnce(t *testing.T) {
	c := openCluster(t)
	_, followers := c.leader("")
	f := followers[0]
	f.opts.Forwarder = &lossy{Forwarder: f.opts.Forwarder, lose: 3}
	id, err := f.StartJob(c.ctx, record.Job{Entrypoint: "once"})
	if err != nil {
		t.Fatal(err)
	}
	if jobs := f.ListJobs(); len(jobs) != 1 || jobs[0].ID != id {
		t.Errorf("job %s was started, there are %v", id, jobs)
	}
}

func TestCluster_ForwardedByAStranger_IsChecked(t *testing.T) {
	c := openCluster(t)
	leader, followers := c.leader("")
	bad, err := encode(Command{Body: &RegisterActor{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]byte{nil, {0x95, 99}, bad} {
		if _, err := leader.Forwarded(c.ctx, command); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%x: got %v", command, err)
		}
	}
	if _, err := leader.Forwarded(c.ctx, make([]byte, MaxCommandBytes+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	good, err := encode(Command{Body: &SettingDel{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := followers[0].Forwarded(c.ctx, good); err != nil && !errors.Is(err, ErrNotLeader) {
		t.Errorf("got %v", err)
	}
}
