package census

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/play/peers"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// world is a cluster with a head and nodes 1, 2 and so on. Connections are made when they are wanted.
type world struct {
	inquiry.Reads
	net   peers.Network
	nodes []*node
	err   error // of the head
}

// node is a daemon that a test plays.
type node struct {
	w      *world
	number uint32
	id     ids.Node
	*Census

	processes []Process
	dead      bool
	hold      chan struct{} // not nil: messages are handled when it is closed
	asked     int           // messages that have come
	refused   []error
	site      string // of the objects of its processes
}

// play runs a test in a bubble with so many nodes.
func play(t *testing.T, nodes uint32, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := new(world)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range nodes {
			n := &node{w: w, number: i + 1, id: ids.Node{byte(i + 1)}, site: "f.py:f:1"}
			n.Census = New(Options{Self: n.id, Node: n, Network: n, Context: ctx, Refused: func(err error) { n.refused = append(n.refused, err) }})
			w.nodes = append(w.nodes, n)
			w.net.Add(n.number, n.got)
		}
		defer func() {
			cancel()
			for _, n := range w.nodes {
				w.net.Cut(n.number)
				for _, p := range n.processes {
					p.Peer.Close()
				}
			}
			synctest.Wait()
		}()
		f(t, w)
	})
}

// Nodes implements inquiry.Reads.
func (w *world) Nodes(context.Context) (list []record.Node, err error) {
	for _, n := range w.nodes {
		state := record.NodeAlive
		if n.dead {
			state = record.NodeDead
		}
		list = append(list, record.Node{ID: n.id, Number: n.number, State: state, Resources: record.Resources{"CPU": 10}})
	}
	return list, w.err
}

// ActorsOf implements inquiry.Reads.
func (w *world) ActorsOf(context.Context, record.ActorFilter) ([]record.Actor, error) {
	return []record.Actor{{ClassName: "A"}}, nil
}

// Jobs implements inquiry.Reads.
func (w *world) Jobs(context.Context) ([]record.Job, error) {
	return []record.Job{{Node: w.nodes[0].id, State: record.JobRunning}}, nil
}

// Groups implements inquiry.Reads.
func (w *world) Groups(context.Context) ([]record.Group, error) {
	return []record.Group{{Name: "g", State: record.GroupRescheduling, Bundles: make([]record.Bundle, 2), Nodes: []ids.Node{{}, w.nodes[0].id}}}, nil
}

// Control implements Network.
func (n *node) Control(to uint32) (*wire.Peer, error) { return n.w.net.Control(n.number, to) }

// got handles a message of another node.
func (n *node) got(from uint32, m *wire.Message) {
	n.asked++
	if n.hold != nil {
		<-n.hold
	}
	if !n.Handle(from, m) {
		_ = m.Fail(fault.New(fault.BadRequest, "not about a census"))
	}
}

// process adds a process that holds so many objects, and that answers when release is closed.
func (n *node) process(objects int, release chan struct{}) {
	a, b := net.Pipe()
	self := ids.NewWorkerOn(n.number)
	p := Process{Pid: 1 << 30, Role: wire.RoleWorker, Self: self, Peer: wire.NewPeer(a, func(*wire.Message) {}, nil)}
	var there *wire.Peer
	there = wire.NewPeer(b, func(m *wire.Message) {
		var q wire.CensusAsk
		if err := m.Decode(&q); err != nil {
			_ = m.Fail(err)
			return
		}
		go func() {
			if release != nil {
				select {
				case <-release:
				case <-there.Done():
				}
			}
			out := wire.ProcessCensus{WorkerID: self[:], Owned: objects, Looked: q.Limit}
			for i := range min(objects, q.Limit) {
				id := ids.NewObject(uint64(i), self.Owner(), ids.JobOf(1), 1)
				out.Objects = append(out.Objects, wire.Held{ObjectID: id[:], Site: n.site})
			}
			_ = m.Reply(&out)
		}()
	}, nil)
	p.Peer.Start()
	there.Start()
	n.processes = append(n.processes, p)
}

// Asked implements Node.
func (n *node) Asked() []Process { return n.processes }

// AddRows implements Node: each object is in the store.
func (n *node) AddRows(out *wire.NodeCensus) {
	out.Store.Used = uint64(n.number)
	out.Workers = []wire.WorkerRow{{Pid: int(n.number)}}
	for i := range out.Processes {
		for j := range out.Processes[i].Objects {
			out.Places = append(out.Places, wire.Place{ObjectID: out.Processes[i].Objects[j].ObjectID})
		}
	}
}

// Use implements Node.
func (n *node) Use() wire.NodeUse {
	return wire.NodeUse{NodeID: n.id[:], Resources: map[string]int64{"CPU": 10, "gpu_memory": int64(n.number)}, Available: map[string]int64{"CPU": int64(n.number)}}
}

// CorrectJob implements Node.
func (n *node) CorrectJob(j *record.Job) { j.State = record.JobLost }

// ask is the largest question.
var ask = wire.CensusAsk{Limit: 10, TimeoutMs: 1000, Objects: true, Tasks: true}

// silences returns what is said of nodes that have not answered, by number.
func silences(list []wire.SilentNode) map[byte]string {
	found := make(map[byte]string)
	for _, s := range list {
		found[s.NodeID[0]] = s.Why
	}
	return found
}

func TestTake_AllLivingNodesAnswer_ThatOfTheAskerFirst(t *testing.T) {
	play(t, 4, func(t *testing.T, w *world) {
		for i, n := range w.nodes {
			n.process(i+1, nil)
		}
		w.nodes[3].dead = true
		out, err := w.nodes[1].Take(t.Context(), w, &ask)
		if err != nil || len(out.Silent) != 0 || len(out.Nodes) != 4 || len(out.Actors) != 1 || len(out.Jobs) != 1 || out.Jobs[0].State != "LOST" || out.Jobs[0].NodeID[0] != 1 {
			t.Fatalf("the census is %+v, %v", out, err)
		}
		if g := out.Groups; len(g) != 1 || g[0].Name != "g" || g[0].State != "RESCHEDULING" || len(g[0].Bundles) != 2 || !slices.Equal(g[0].Nodes, []string{"", w.nodes[0].id.String()}) {
			t.Errorf("the placement groups are %+v", g)
		}
		var from []int
		for _, p := range out.Parts {
			from = append(from, int(p.NodeID[0]))
			if n := int(p.NodeID[0]); len(p.Processes) != 1 || len(p.Processes[0].Objects) != n || len(p.Places) != n || p.Workers[0].Pid != n || p.Store.Used != uint64(n) {
				t.Errorf("part %+v", p)
			}
		}
		if !slices.Equal(from, []int{2, 1, 3}) {
			t.Errorf("the parts come from nodes %v", from)
		}
	})
}

// What only the head knows needs no other node, and no process.
func TestTake_HeadOnly_AsksNoNode(t *testing.T) {
	play(t, 2, func(t *testing.T, w *world) {
		out, err := w.nodes[0].Take(t.Context(), w, &wire.CensusAsk{Head: true})
		if err != nil || len(out.Nodes) != 2 || len(out.Parts) != 1 || len(out.Silent) != 0 || w.nodes[1].asked != 0 {
			t.Errorf("the census is %+v, %v; the other node is asked %d times", out, err, w.nodes[1].asked)
		}
	})
}

func TestTake_HeadFails_IsAnError(t *testing.T) {
	play(t, 2, func(t *testing.T, w *world) {
		w.err = errors.New("no head")
		w.nodes[0].process(1, make(chan struct{}))
		if out, err := w.nodes[0].Take(t.Context(), w, &ask); out != nil || err != w.err {
			t.Errorf("the census is %+v, %v", out, err)
		}
	})
}

// A node that is stopped, one that is cut off and a process that is busy are named. What the others do is told in time.
func TestTake_SilentNodesAndProcesses_AreNamed(t *testing.T) {
	play(t, 4, func(t *testing.T, w *world) {
		w.nodes[1].hold = make(chan struct{})
		w.net.Remove(3)
		w.nodes[3].process(1, make(chan struct{}))
		began := time.Now()
		out, err := w.nodes[0].Take(t.Context(), w, &ask)
		if err != nil || time.Since(began) != time.Second || len(out.Parts) != 2 {
			t.Fatalf("after %v: %+v, %v", time.Since(began), out, err)
		}
		why := silences(out.Silent)
		if len(why) != 2 || !strings.Contains(why[2], "it did not answer within 1s") || !strings.Contains(why[3], "it cannot be reached: node 3 is dead") {
			t.Errorf("silent are %v", why)
		}
		if p := out.Parts[1]; p.NodeID[0] != 4 || len(p.Silent) != 1 || !strings.Contains(p.Silent[0].Why, "did not answer within 800ms") {
			t.Errorf("of node 4: %+v", p)
		}
		close(w.nodes[1].hold)
	})
}

// A node that hangs is asked once, however often somebody wants to know what is free. When it has answered it is asked again.
func TestInfo_NodeHangs_IsAskedOnceAndCostsNoTime(t *testing.T) {
	play(t, 2, func(t *testing.T, w *world) {
		there := w.nodes[1]
		there.hold = make(chan struct{})
		info := func() (wire.ClusterInfo, time.Duration) {
			began := time.Now()
			i, err := w.nodes[0].Info(t.Context(), w, &wire.ClusterAsk{Use: true})
			if err != nil {
				t.Fatal(err)
			}
			return i, time.Since(began)
		}
		if i, took := info(); took != useWait || len(i.Others) != 0 || !strings.Contains(silences(i.Silent)[2], "did not answer within 2s") {
			t.Errorf("after %v: %+v", took, i)
		}
		time.Sleep(3 * time.Second)
		for range 100 {
			if i, took := info(); took != 0 || !strings.Contains(silences(i.Silent)[2], "it has not answered for 5s") {
				t.Fatalf("after %v: %+v", took, i)
			}
		}
		close(there.hold)
		synctest.Wait()
		if i, took := info(); took != 0 || len(i.Silent) != 0 || len(i.Others) != 1 || there.asked != 2 {
			t.Errorf("after %v and %d questions: %+v", took, there.asked, i)
		}
		there.hold = make(chan struct{})
		info()
		w.net.Cut(2) // the connection of a hanging node ends, too
		synctest.Wait()
		close(there.hold)
		there.hold = nil
		if i, _ := info(); len(i.Others) != 1 {
			t.Errorf("on a new connection: %+v", i)
		}
	})
}

// A caller that leaves before a node had time to answer leaves no mark on the node: the next caller asks it.
func TestInfo_CallerLeaves_NodeIsNotCalledSilent(t *testing.T) {
	play(t, 2, func(t *testing.T, w *world) {
		there := w.nodes[1]
		there.hold = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if i, err := w.nodes[0].Info(ctx, w, &wire.ClusterAsk{Use: true}); err != nil || !strings.Contains(silences(i.Silent)[2], "within 10ms, and the one that asked") {
			t.Errorf("the caller that leaves hears %+v, %v", i, err)
		}
		close(there.hold)
		if i, err := w.nodes[0].Info(t.Context(), w, &wire.ClusterAsk{Use: true}); err != nil || len(i.Silent) != 0 || len(i.Others) != 1 {
			t.Errorf("the next caller hears %+v, %v", i, err)
		}
	})
}

func TestInfo_UseOfAllNodes_FillsTheirRows(t *testing.T) {
	play(t, 2, func(t *testing.T, w *world) {
		i, err := w.nodes[1].Info(t.Context(), w, &wire.ClusterAsk{})
		if err != nil || len(i.Others) != 0 || w.nodes[0].asked != 0 || i.NodeID[0] != 2 || i.Nodes[0].Available != nil || i.Nodes[1].Available["CPU"] != 2 {
			t.Errorf("of the own node alone: %+v, %v", i, err)
		}
		i, err = w.nodes[1].Info(t.Context(), w, &wire.ClusterAsk{Use: true})
		if err != nil || len(i.Others) != 1 || i.Nodes[0].Available["CPU"] != 1 || i.Nodes[0].Resources["gpu_memory"] != 1 || i.ClusterAvailable()["CPU"] != 3 {
			t.Errorf("of both: %+v, %v", i, err)
		}
		w.err = errors.New("no head")
		if _, err := w.nodes[0].Info(t.Context(), w, &wire.ClusterAsk{}); err != w.err {
			t.Errorf("got %v", err)
		}
	})
}

// A node whose answer would be too large leaves out rows. What its processes count stays true, and each object that is left has its place.
func TestTake_PartIsTooLarge_RowsAreLeftOut(t *testing.T) {
	play(t, 2, func(t *testing.T, w *world) {
		there := w.nodes[1]
		there.site = strings.Repeat("x", 1<<20)
		there.process(20, nil)
		q := ask
		q.Limit = 20
		out, err := w.nodes[0].Take(t.Context(), w, &q)
		if err != nil || len(out.Parts) != 2 {
			t.Fatalf("the census is %+v, %v", out.Silent, err)
		}
		p := out.Parts[1]
		if n := len(p.Processes[0].Objects); n != 5 || len(p.Places) != n || p.Processes[0].Owned != 20 {
			t.Errorf("%d objects, %d places, %d are owned", n, len(p.Places), p.Processes[0].Owned)
		}
	})
}

// The rows of one census are shared by the nodes, and on each node by its processes.
func TestTake_ManyNodes_ShareTheRows(t *testing.T) {
	play(t, 4, func(t *testing.T, w *world) {
		for range 5 {
			w.nodes[2].process(0, nil)
		}
		q := ask
		q.Limit = maxRows
		out, err := w.nodes[0].Take(t.Context(), w, &q)
		if err != nil || len(out.Parts) != 4 {
			t.Fatalf("the census is %+v, %v", out.Silent, err)
		}
		for _, p := range out.Parts[2].Processes {
			if p.Looked != maxRows/4/5 {
				t.Errorf("a process may tell %d objects", p.Looked)
			}
		}
	})
}

// Messages that make no sense are refused, and noted. One of another kind is not taken.
func TestHandle_BadMessages_AreRefused(t *testing.T) {
	play(t, 2, func(t *testing.T, w *world) {
		p, err := w.nodes[0].Control(2)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Call(t.Context(), linkmsg.TCensus, "no map", nil); fault.CodeOf(err) != fault.BadRequest || len(w.nodes[1].refused) != 1 {
			t.Errorf("got %v, noted %v", err, w.nodes[1].refused)
		}
		if err := p.Call(t.Context(), linkmsg.TOutput, nil, nil); err == nil || !strings.Contains(err.Error(), "not about a census") {
			t.Errorf("got %v", err)
		}
	})
}

// A node that is asked for too many censuses at a time refuses more, and takes some again later.
func TestHandle_TooManyAtATime_AreRefused(t *testing.T) {
	play(t, 2, func(t *testing.T, w *world) {
		release := make(chan struct{})
		w.nodes[1].process(1, release)
		p, err := w.nodes[0].Control(2)
		if err != nil {
			t.Fatal(err)
		}
		body, err := linkmsg.Encode("a question", &linkmsg.CensusAsk{Limit: 1, Rows: 1, Objects: true})
		if err != nil {
			t.Fatal(err)
		}
		answers := make(chan error, maxServed)
		for range maxServed {
			p.Go(linkmsg.TCensus, body, func(_ *wire.Message, err error) { answers <- err })
		}
		if err := p.Call(t.Context(), linkmsg.TCensus, body, nil); err == nil || !strings.Contains(err.Error(), "too many at the same time: 16") {
			t.Errorf("one more: %v", err)
		}
		close(release)
		for range maxServed {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if err := p.Call(t.Context(), linkmsg.TCensus, body, nil); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}
