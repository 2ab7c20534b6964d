package client

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// successors lets the fake daemon start successors, in this process, as the real one does.
func (d *fakeDaemon) successors() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takesOver = func(u *net.UnixConn, owner []byte) {
		_ = wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, -1)
		if err := Succeed(u, d.sock(), string(owner)); err != nil && !strings.Contains(err.Error(), "closed") {
			d.t.Errorf("succeed: %v", err)
		}
		d.mu.Lock()
		d.ended++
		d.mu.Unlock()
	}
}

// member is a process that owns, borrows and passes references on.
type member struct {
	c    *Client
	refs map[ids.Object]int // references of its program
}

func (d *fakeDaemon) member(t *testing.T, role string) *member {
	t.Helper()
	c, err := Connect(Options{Socket: d.sock(), Role: role, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if role == wire.RoleWorker { // it ends: nobody gets it
		d.eventually("the worker is ready", func() bool {
			n := len(d.idle)
			d.idle = slices.DeleteFunc(d.idle, func(addr string) bool { return addr == c.info.Addr })
			return len(d.idle) < n
		})
	}
	return &member{c, map[ids.Object]int{}}
}

// put makes an object that contains a text and references.
func (m *member) put(t *testing.T, text string, inner ...ids.Object) ids.Object {
	t.Helper()
	id, err := m.c.Put(&Value{Fmt: FmtBytes, Meta: []byte(text), Nested: inner})
	if err != nil {
		t.Fatal(err)
	}
	m.refs[id]++
	return id
}

// awaitAcks blocks until every registration is acknowledged; mu held.
func (c *Client) awaitAcks() {
	for c.table.Unregistered() > 0 && !c.Closed() {
		w := wait.New()
		c.table.AwaitRegistered(w)
		c.poller.Await(w, time.Now().Add(time.Second))
	}
}

// give passes a reference on and waits until it is registered, as a reply does.
func (m *member) give(t *testing.T, id ids.Object, to *member) {
	t.Helper()
	addr, err := m.c.Export(id)
	if err != nil {
		t.Fatalf("export %s: %v", id, err)
	}
	if err := to.c.Import(id, addr, 0); err != nil {
		t.Fatal(err)
	}
	to.refs[id]++
	to.c.mu.Lock()
	to.c.awaitAcks()
	to.c.mu.Unlock()
}

func (m *member) drop(id ids.Object) {
	if m.refs[id]--; m.refs[id] == 0 {
		delete(m.refs, id)
	}
	m.c.Release(Drop{Object: id})
}

func (m *member) check(t *testing.T, id ids.Object, want string) {
	t.Helper()
	f, err := m.c.Get(id, testLimit)
	if err != nil || f == nil {
		t.Fatalf("get %s: %v, %v", id, f, err)
	}
	if f.IsError || !strings.Contains(string(f.Envelope), want) {
		t.Fatalf("get %s: %q, want %q", id, f.Envelope, want)
	}
	if f.View != 0 {
		m.c.Release(Drop{View: f.View})
	}
}

// An owner moves while others take, pass on, read and drop references to what
// it owns, at random. Nothing is freed that somebody holds; when all is let go, the successor ends.
func TestMove_BorrowersComeAndGoMeanwhile_NothingEarlyNothingKept(t *testing.T) {
	for seed := range uint64(25) {
		d := startDaemon(t)
		d.successors()
		owner := d.member(t, wire.RoleWorker)
		members := []*member{d.member(t, wire.RoleDriver), d.member(t, wire.RoleDriver), d.member(t, wire.RoleDriver)}
		r := rand.New(rand.NewPCG(seed, 11))
		foreign := members[0].put(t, "foreign")
		members[0].give(t, foreign, owner)
		texts := map[ids.Object]string{foreign: "foreign"}
		for i := range 40 {
			text := fmt.Sprintf("value %d.", i)
			if i%5 == 0 {
				text += strings.Repeat("x", MaxInline+i) // in the arena
			}
			var inner []ids.Object
			for id := range texts {
				if r.IntN(4) == 0 {
					inner = append(inner, id)
				}
			}
			id := owner.put(t, text, inner...)
			texts[id] = fmt.Sprintf("value %d.", i)
			if i%3 != 0 {
				owner.give(t, id, members[r.IntN(3)])
			}
		}
		step := func() {
			m := members[r.IntN(3)]
			for id, n := range m.refs {
				switch r.IntN(5) {
				case 0, 1:
					m.give(t, id, members[r.IntN(3)])
				case 2:
					m.check(t, id, texts[id])
				case 3:
					if n > 1 || r.IntN(3) == 0 && id != foreign {
						m.drop(id)
					}
				}
				break
			}
		}
		for range r.IntN(40) {
			step()
		}
		moved := make(chan error, 1)
		go func() { moved <- owner.c.Exiting("test") }()
		for on := true; on; {
			select {
			case err := <-moved:
				if err != nil {
					t.Fatal(err)
				}
				on = false
			default:
				step()
			}
		}
		owner.vanish()
		for range 60 {
			step()
		}
		if seed%3 == 0 { // a member dies without a word
			members[2].c.Close(0)
			members[2] = d.member(t, wire.RoleDriver)
			for range 20 {
				step()
			}
		}
		for _, m := range members {
			for id := range m.refs {
				m.check(t, id, texts[id])
			}
			for id, n := range m.refs {
				for range n {
					m.drop(id)
				}
			}
		}
		waitFor(t, "the successor ends", func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.ended == 1
		})
		for _, m := range members {
			waitFor(t, "tables are empty", func() bool {
				owned, borrowed := m.c.Holds()
				return owned+borrowed == 0
			})
			m.c.Close(0)
		}
	}
}

// submit starts a task whose argument is a text; its result is that text, or
// its first dependency's value.
func (m *member) submit(t *testing.T, tmpl int, text string, deps ...ids.Object) ids.Object {
	t.Helper()
	id, _, err := m.c.Submit(&Call{Template: tmpl, Args: Value{Fmt: FmtBytes, Meta: []byte(text)}, Deps: deps})
	if err != nil {
		t.Fatal(err)
	}
	m.refs[id]++
	return id
}

// An owner moves while tasks of its run, queue and wait for others. Each runs
// once, and whoever holds its result gets it.
func TestMove_TasksUnderWay_EachRunsOnceAndIsAnswered(t *testing.T) {
	for seed := range uint64(20) {
		d := startDaemon(t)
		d.successors()
		r := rand.New(rand.NewPCG(seed, 13))
		gate := make(chan struct{})
		var mu sync.Mutex
		ran := map[ids.Task]int{}
		work := func(c *Client, it *Item) {
			mu.Lock()
			ran[it.TaskID]++
			mu.Unlock()
			if it.Tmpl.Name == "slow" {
				<-gate
			}
			echo(c, it)
		}
		for range 3 {
			d.worker(work)
		}
		owner, friend := d.member(t, wire.RoleWorker), d.member(t, wire.RoleDriver)
		fast, slow := template(t, owner.c, "fast"), template(t, owner.c, "slow")
		want := map[ids.Object]string{}
		foreign := friend.put(t, "foreign"+strings.Repeat("y", int(seed%2)*2*MaxInline))
		friend.give(t, foreign, owner)
		want[foreign] = "foreign"
		late := friend.submit(t, template(t, friend.c, "slow"), "late")
		friend.give(t, late, owner)
		want[late] = "late"
		all := []ids.Object{foreign, late}
		tasks := 1
		for i := range 30 {
			text := fmt.Sprintf("task %d.", i)
			if i%7 == 0 {
				text += strings.Repeat("x", MaxInline)
			}
			var deps []ids.Object
			if r.IntN(2) == 0 {
				dep := all[r.IntN(len(all))]
				deps, text = append(deps, dep), want[dep]
			}
			tmpl := fast
			if i%4 == 0 {
				tmpl = slow
			}
			id := owner.submit(t, tmpl, text, deps...)
			tasks++
			want[id] = text[:min(len(text), 7)]
			all = append(all, id)
			if i%3 > 0 {
				owner.give(t, id, friend)
			}
		}
		time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond) // any point will do
		asked := make(chan error, len(friend.refs))
		for id := range friend.refs { // waits on both sides of the move
			go func() {
				f, err := friend.c.Get(id, testLimit)
				if err == nil && (f == nil || f.IsError || !strings.Contains(string(f.Envelope), want[id])) {
					err = fmt.Errorf("%s: %v, want %q", id, f, want[id])
				}
				if err == nil && f.View != 0 {
					friend.c.Release(Drop{View: f.View})
				}
				asked <- err
			}()
		}
		if seed%2 == 0 {
			close(gate)
		}
		if err := owner.c.Exiting("test"); err != nil {
			t.Fatal(err)
		}
		owner.vanish()
		if seed%2 == 1 {
			close(gate)
		}
		for range friend.refs {
			if err := <-asked; err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for id, n := range friend.refs {
			for range n {
				friend.drop(id)
			}
		}
		waitFor(t, "the successor ends", func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.ended == 1
		})
		mu.Lock()
		if len(ran) != tasks {
			t.Errorf("seed %d: %d tasks ran, of %d", seed, len(ran), tasks)
		}
		for id, n := range ran {
			if n != 1 {
				t.Errorf("seed %d: task %x ran %d times", seed, id, n)
			}
		}
		mu.Unlock()
		friend.c.Close(0)
	}
}

// While an owner moves, one of its leases breaks and another is granted: the successor hears of both.
func TestMove_LeasesThatComeAndGoOnTheWay_AreSettled(t *testing.T) {
	d := startDaemon(t)
	d.successors()
	begun := make(chan struct{})
	end := make(chan struct{})
	d.worker(func(c *Client, it *Item) {
		close(begun)
		<-end
		echo(c, it)
	})
	t.Cleanup(func() { close(end) })
	owner, friend := d.member(t, wire.RoleWorker), d.member(t, wire.RoleDriver)
	id := owner.submit(t, template(t, owner.c, "f"), "x")
	owner.give(t, id, friend)
	<-begun
	d.mu.Lock()
	d.onTakeOver = func(r *wire.TakenOver) {
		if len(r.LeaseIDs) != 1 {
			t.Errorf("leases %v", r.LeaseIDs)
		}
		r.LeaseIDs = []uint64{4711}
	}
	d.mu.Unlock()
	if err := owner.c.Exiting("test"); err != nil {
		t.Fatal(err)
	}
	owner.vanish()
	d.eventually("the lease that nobody knows is given back", func() bool { return slices.Contains(d.returned, 4711) })
	f, err := friend.c.Get(id, testLimit)
	if err != nil || f == nil || !f.IsError || !strings.Contains(string(f.Envelope), "worker_crashed") {
		t.Fatalf("%v, %v", f, err)
	}
	friend.drop(id)
	d.eventually("the successor ends", func() bool { return d.ended == 1 })
	friend.c.Close(0)
}

// vanish closes what the end of a process would.
func (m *member) vanish() {
	c := m.c
	c.daemon.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served.CloseConnections()
	c.links.CloseConnections()
	c.listener.Abandon()
	c.poller.CloseConnections()
}
