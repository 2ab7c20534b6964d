package client

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/promise"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/await"
)

// fakeDaemon grants leases on workers of the test, one each, and keeps an arena.
type fakeDaemon struct {
	t    *testing.T
	dir  string
	l    net.Listener
	fd   int
	size uint64
	node ids.Node

	mu      sync.Mutex
	next    uint64
	objects map[string]wire.ObjPlace
	pins    int
	asked   int // pins that were asked for
	reused  int // ranges
	freed   map[string]bool
	tooSoon map[string]bool // unpinned before they were freed
	idle    []string        // addresses of workers
	leased  map[uint64]string
	wants   []want
	peers   map[*wire.Peer]string
	blocked int
	choice  int  // of the next grants
	better  bool // of them
	never   bool // of them
	most    int  // that it gives; 0: no limit
	given   int  // leases given back

	reaches    func(u *net.UnixConn, target []byte) // see otherNode in homes_test.go
	takesOver  func(u *net.UnixConn, owner []byte)  // see successors in move_test.go
	succeeds   map[*wire.Peer]ids.Worker            // the worker that each successor is to replace
	peerOf     map[ids.Worker]*wire.Peer
	holder     map[uint64]*wire.Peer // of leases
	onTakeOver func(*wire.TakenOver) // changes what the successor is told
	returned   []uint64              // leases given back
	ended      int                   // how many successors have ended
	forgotten  int                   // functions
	exits      []string              // what workers said before they ended on purpose
	together   int                   // questions for the places of many
	full       bool                  // who asks for room waits
	noArena    bool                  // who joins gets no descriptor of the arena
	onDisk     bool                  // nothing is in the arena: places are told one by one
	holdPins   int                   // so many places are asked for before one is told
	late       []lateObject

	first   func(m *wire.Message) bool // sees each message first, and says whether it has seen to it
	actors  map[ids.Actor]*fakeActor   // see fakeactor_test.go
	promise *promise.Page              // of the node; nil: it is the only one
	ends    bool                       // the test is over: nobody is started any more
}

// forActor is the token of a worker that becomes an actor: it runs no tasks.
const forActor = "actor"

type want struct {
	p     *wire.Peer
	class uint32
	n     int
	due   int
}

func startDaemon(t *testing.T) *fakeDaemon {
	dir, err := os.MkdirTemp("", "er") // t.TempDir's names are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &fakeDaemon{t: t, dir: dir, size: 64 << 20, node: ids.NewNode(), objects: map[string]wire.ObjPlace{}, freed: map[string]bool{}, tooSoon: map[string]bool{},
		leased: map[uint64]string{}, peers: map[*wire.Peer]string{}, succeeds: map[*wire.Peer]ids.Worker{}, peerOf: map[ids.Worker]*wire.Peer{}, holder: map[uint64]*wire.Peer{}}
	if d.fd, err = store.CreateMemory("fake", d.size); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(d.dir, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	if d.l, err = net.Listen("unix", d.sock()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.mu.Lock()
		d.ends = true // before the socket goes: a worker that comes too late then is no failure
		peers := d.peers
		d.peers = map[*wire.Peer]string{}
		d.mu.Unlock()
		d.l.Close()
		for p := range peers {
			p.Close()
		}
		unix.Close(d.fd)
	})
	go func() {
		for {
			c, err := d.l.Accept()
			if err != nil {
				return
			}
			go d.welcome(c.(*net.UnixConn))
		}
	}()
	return d
}

// fakeNode is the number of the fake daemon's node.
const fakeNode = 5

// stranger returns a process of the node that no daemon knows: its owner's id, its address, and
// the path at which it would listen.
func (d *fakeDaemon) stranger() (o ids.Owner, addr, path string) {
	o = ids.NewWorkerOn(fakeNode).Owner()
	return o, wire.AddressOf(o), wire.SocketPath(d.dir, o)
}

func (d *fakeDaemon) sock() string { return filepath.Join(d.dir, "d.sock") }

func (d *fakeDaemon) welcome(u *net.UnixConn) {
	h, err := wire.ReadHello(u)
	if err != nil {
		u.Close()
		return
	}
	if h.Role == wire.RoleHandover {
		d.mu.Lock()
		f := d.takesOver
		d.mu.Unlock()
		f(u, h.OwnerID)
		return
	}
	if h.Role == wire.RoleReach {
		d.mu.Lock()
		f := d.reaches
		d.mu.Unlock()
		f(u, h.OwnerID)
		return
	}
	if h.Role == wire.RoleProgress {
		d.givePage(u, h.OwnerID)
		return
	}
	if h.Role == wire.RolePromise {
		defer u.Close()
		fd := -1
		d.mu.Lock()
		if d.promise != nil {
			fd = d.promise.FD()
		}
		d.mu.Unlock()
		_ = wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, fd)
		return
	}
	w := ids.NewWorkerOn(fakeNode)
	job := ids.JobOf(1)
	d.mu.Lock()
	arena := d.fd
	if d.noArena {
		arena = -1
	}
	d.mu.Unlock()
	err = wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version, NodeID: d.node[:], WorkerID: w[:], JobID: job[:], SessionDir: d.dir, Socket: wire.SocketPath(d.dir, w.Owner()),
		ArenaBytes: d.size, DaemonPid: os.Getpid()}, arena)
	if err != nil {
		u.Close()
		return
	}
	p := wire.NewPeer(u, func(m *wire.Message) {
		if m.Type != wire.TWorkerReady || h.Token != forActor {
			d.handle(m, wire.AddressOf(w.Owner()))
		}
	}, nil)
	d.mu.Lock()
	if d.ends {
		d.mu.Unlock()
		p.Close()
		return
	}
	d.peers[p] = h.Role
	d.peerOf[w] = p
	if h.Role == wire.RoleSuccessor {
		for x := range d.peerOf {
			if o := x.Owner(); string(o[:]) == h.Token {
				w = x
			}
		}
		d.succeeds[p] = w
	}
	d.mu.Unlock()
	p.Start()
}

func (d *fakeDaemon) handle(m *wire.Message, addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first != nil && d.first(m) {
		return
	}
	switch m.Type {
	case wire.TJobStart:
		j := ids.JobOf(1)
		_ = m.Reply(wire.JobStarted{JobID: j[:], Namespace: "test"})
	case wire.TWorkerReady:
		d.idle = append(d.idle, addr)
	case wire.TLeaseWant:
		var w wire.LeaseWant
		_ = m.Decode(&w)
		d.wants = slices.DeleteFunc(d.wants, func(o want) bool { return o.p == m.Peer() && o.class == w.ClassID })
		d.wants = append(d.wants, want{m.Peer(), w.ClassID, w.Want, w.Due})
	case wire.TLeaseReturn:
		var r wire.LeaseReturn
		_ = m.Decode(&r)
		if a, ok := d.leased[r.LeaseID]; ok && !r.Unusable && !r.Exiting {
			d.idle = append(d.idle, a)
		}
		delete(d.leased, r.LeaseID)
		d.given++
		d.returned = append(d.returned, r.LeaseID)
	case wire.TObjCreate:
		var o wire.ObjCreate
		_ = m.Decode(&o)
		if _, there := d.objects[string(o.ObjectID)]; there && !d.freed[string(o.ObjectID)] && !o.Anew {
			_ = m.Fail(fault.New(fault.AlreadyExists, "there is one"))
			return
		}
		delete(d.freed, string(o.ObjectID))
		if d.full { // it is not answered: there is no room
			return
		}
		if d.next+o.Size > d.size {
			_ = m.Fail(fault.New(fault.StoreFull, "full"))
			return
		}
		at := wire.ObjPlace{Offset: d.next, Size: o.Size}
		d.next += (o.Size + 4095) &^ 4095
		d.objects[string(o.ObjectID)] = at
		_ = m.Reply(at)
	case wire.TObjPin:
		var o wire.ObjPin
		_ = m.Decode(&o)
		at, ok := d.objects[string(o.ObjectID)]
		if !ok {
			_ = m.Fail(fault.New(fault.ObjectLost, "no such object"))
			return
		}
		d.pins++
		d.asked++
		if d.late = append(d.late, lateObject{m, at}); len(d.late) < d.holdPins {
			return
		}
		for _, l := range d.late {
			_ = l.m.Reply(l.at)
		}
		d.late = nil
	case wire.TObjPins:
		var q wire.ObjRefs
		var r wire.ObjPlaces
		_ = m.Decode(&q)
		d.together++
		for i, id := range q.ObjectIDs {
			at, ok := d.objects[string(id)]
			if !ok || d.onDisk {
				continue
			}
			d.pins++
			r.Which, r.Offsets, r.Sizes = append(r.Which, uint32(i)), append(r.Offsets, at.Offset), append(r.Sizes, at.Size)
		}
		_ = m.Reply(r)
	case wire.TObjUnpin:
		var o wire.ObjRef
		_ = m.Decode(&o)
		d.pins--
		d.tooSoon[string(o.ObjectID)] = !d.freed[string(o.ObjectID)]
	case wire.TObjSealed:
		d.pins++
	case wire.TObjReuse:
		var o wire.ObjReuse
		_ = m.Decode(&o)
		at := d.objects[string(o.Old)]
		delete(d.objects, string(o.Old))
		d.freed[string(o.Old)] = true
		at.Size = o.Size
		d.objects[string(o.ObjectID)] = at
		d.pins--
		d.reused++
	case wire.TObjFree:
		var o wire.ObjRefs
		_ = m.Decode(&o)
		for _, id := range o.ObjectIDs {
			d.freed[string(id)] = true
		}
	case wire.TTakeOver:
		w := d.succeeds[m.Peer()]
		r := wire.TakenOver{WorkerID: w[:], Socket: wire.SocketPath(d.dir, w.Owner())}
		for i := range d.wants {
			if d.wants[i].p == d.peerOf[w] {
				d.wants[i].p = m.Peer()
			}
		}
		for id, p := range d.holder {
			if p == d.peerOf[w] && d.leased[id] != "" {
				d.holder[id] = m.Peer()
				r.LeaseIDs = append(r.LeaseIDs, id)
			}
		}
		if d.onTakeOver != nil {
			d.onTakeOver(&r)
		}
		_ = m.Reply(r)
	case wire.TForget:
		d.forgotten++
	case wire.TWorkerExit:
		var x wire.WorkerExit
		_ = m.Decode(&x)
		d.exits = append(d.exits, x.Reason)
	case wire.TObjStats:
		_ = m.Reply(wire.ObjStats{})
	case wire.TObjCheck:
		var q wire.ObjRefs
		var lacks wire.ObjMissing
		_ = m.Decode(&q)
		for _, id := range q.ObjectIDs {
			if _, there := d.objects[string(id)]; !there {
				lacks.ObjectIDs = append(lacks.ObjectIDs, id)
			}
		}
		_ = m.Reply(lacks)
	case wire.TBlocked:
		d.blocked++
	case wire.TUnblocked:
		d.blocked--
	case wire.TJobEnd:
		_ = m.Reply(nil)
	default:
		d.actorMessage(m)
	}
	d.grant()
}

func (d *fakeDaemon) grant() {
	for i := 0; i < len(d.wants) && len(d.idle) > 0; {
		w := &d.wants[i]
		if w.n <= 0 || d.most > 0 && len(d.holder) >= d.most {
			i++
			continue
		}
		w.n--
		d.next++
		id := d.next
		d.next = (d.next + 4095) &^ 4095
		addr := d.idle[0]
		d.idle = d.idle[1:]
		d.leased[id], d.holder[id] = addr, w.p
		_ = w.p.Push(wire.TLeaseGrant, wire.LeaseGrant{ClassID: w.class, LeaseID: id, Addr: addr, Choice: d.choice, Better: d.better, Never: d.never})
	}
}

// worker runs a client in the worker's role whose program is f.
func (d *fakeDaemon) worker(f func(c *Client, it *Item)) *Client {
	d.t.Helper()
	c, err := d.workerFor("t", f)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *fakeDaemon) workerFor(token string, f func(c *Client, it *Item)) (*Client, error) {
	return d.workerWith(Options{Token: token}, f)
}

func (d *fakeDaemon) workerWith(o Options, f func(c *Client, it *Item)) (*Client, error) {
	o.Socket, o.Role = d.sock(), wire.RoleWorker
	c, err := Connect(o)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			it, err := c.NextTask(-1, "")
			if err != nil || it != nil && it.Kind == ItemExit {
				return
			}
			if it == nil || it.Kind == ItemAssign {
				continue
			}
			f(c, it)
		}
	}()
	d.t.Cleanup(func() {
		c.Close(0)
		<-done
	})
	return c, nil
}

func (d *fakeDaemon) driver() *Client {
	d.t.Helper()
	return d.driverWith(Options{})
}

func (d *fakeDaemon) driverWith(o Options) *Client {
	d.t.Helper()
	o.Socket, o.Role, o.Background = d.sock(), wire.RoleDriver, lend
	c, err := Connect(o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close(time.Second) })
	return c
}

// textOf is the text that submit gave a task.
func textOf(it *Item) string {
	e, err := store.Parse(it.Args.Envelope)
	if err != nil {
		return ""
	}
	return string(e.Meta)
}

// echo answers with its arguments: their bytes, or the first dependency's.
func echo(c *Client, it *Item) {
	v := Value{Fmt: FmtNone}
	f := it.Args
	if len(it.Deps) > 0 {
		f = it.Deps[0]
	}
	if len(f.Envelope) > 0 {
		e, err := store.Parse(f.Envelope)
		if err != nil {
			panic(err)
		}
		v = Value{Fmt: uint8(e.Format), Meta: e.Meta, Bufs: e.Bufs}
	}
	if err := c.Reply(it.Token, []Value{v}, 0); err != nil {
		panic(err)
	}
	for _, x := range append([]Found{it.Args}, it.Deps...) {
		if x.View != 0 {
			c.Release(Drop{View: x.View})
		}
	}
}

// testLimit is how long tests wait for what must come. It only tells a test that hangs from one that is slow.
const testLimit = await.Limit

// waitFor waits for what must come and no event announces.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	await.Within(t, testLimit, what, ok)
}

// eventually waits for a condition that is read with the daemon's lock.
func (d *fakeDaemon) eventually(what string, ok func() bool) {
	d.t.Helper()
	waitFor(d.t, what, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return ok()
	})
}

func template(t testing.TB, c *Client, name string) int {
	t.Helper()
	id, err := c.NewTemplate(&Template{Kind: KindTask, Name: name, FID: []byte(fmt.Sprintf("%-16.16s", name)), Blob: []byte(name), Returns: 1, MaxRetries: 0})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// bare makes a client ready whose test needs no daemon, and no more of a session than it sets.
func bare(c *Client) *Client {
	c.submit.Init((*host)(c), submit.Settings{})
	c.initObjects()
	return c
}

// bareClient is a session without a daemon, for what needs none.
func bareClient(t *testing.T, o Options) *Client {
	t.Helper()
	c := bare(&Client{opts: o})
	c.table = c.newTable()
	p, err := transport.New(&c.mu, (*host)(c), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.poller = p
	if err := c.WaitWith(p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.StopBackground()
		c.mu.Lock()
		defer c.mu.Unlock()
		p.End()
		p.AwaitNoLeader()
		p.Close()
		c.CloseAsync()
	})
	return c
}
