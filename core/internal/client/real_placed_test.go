package client

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// The daemon of a node is told by headlink what the head decides, and tells the head by it.
var (
	_ daemon.Cluster  = (*headlink.Client)(nil)
	_ headlink.Placed = (*daemon.Daemon)(nil)
)

// The numbers of the nodes.
const (
	firstNode  = 3
	secondNode = 4
)

// placed is a cluster of two real daemons, whose connections with the head's real half of headlink are pipes. Only the
// second node has a resource b, and only the first one a resource a.
type placed struct {
	*real   // a driver of the first node
	server  *headlink.Server
	members [2]*placedNode
}

// placedNode is a node of the cluster. It gives its daemon what the head says.
type placedNode struct {
	*play.Session
	head   *headlink.Client
	number uint32
	cut    func() // ends the present connection with the head
}

func (n *placedNode) LeaseOffered(o place.Offer)            { n.D.LeaseOffered(o) }
func (n *placedNode) WantInfeasible(i place.Infeasible)     { n.D.WantInfeasible(i) }
func (n *placedNode) PlaceActor(record.Actor, uint64)       {}
func (n *placedNode) WithdrawActor(record.Instance, uint64) {}
func (n *placedNode) StopActor(_ record.Instance, _ bool)   {}
func (n *placedNode) EndActor(record.Instance)              {}
func (n *placedNode) Actors() []record.Instance             { return nil }
func (n *placedNode) NodeIs(record.Node)                    {}
func (n *placedNode) JobIs(record.Job)                      {}

func (n *placedNode) PrepareBundles(ids.Job, packing.Bundles) {}
func (n *placedNode) OpenBundles(ids.Group, uint64)           {}
func (n *placedNode) UndoBundles(ids.Group, uint64)           {}
func (n *placedNode) DropBundles(ids.Group)                   {}
func (n *placedNode) KeptBundles() []packing.Kept             { return nil }

// readyHead is the rest of a head, of which these tests need nothing: each node has a head of its own for jobs.
type readyHead struct{ headlink.Head }

func (readyHead) AwaitReports(context.Context) error { return nil }

// noNews is the feed of a head whose cluster's state has no records.
type noNews struct{}

func (noNews) Now() record.Cursor       { return record.Cursor{} }
func (noNews) ListNodes() []record.Node { return nil }
func (noNews) ListJobs() []record.Job   { return nil }
func (noNews) Watch(ctx context.Context, _ record.Cursor) (record.Batch, error) {
	<-ctx.Done()
	return record.Batch{}, ctx.Err()
}

func startPlaced(t *testing.T) *placed {
	t.Helper()
	return startPlacedOver(t, new(play.Network))
}

// startPlacedOver is startPlaced with a network between the two nodes.
func startPlacedOver(t *testing.T, between *play.Network) *placed {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	x := &placed{server: headlink.NewServer(quiet)}
	x.server.Serve(readyHead{})
	ctx, cancel := context.WithCancel(context.Background())
	followed := make(chan error, 1)
	go func() { followed <- x.server.Follow(ctx, noNews{}) }()
	t.Cleanup(func() {
		x.server.Close()
		cancel()
		<-followed
	})
	for i, number := range []uint32{firstNode, secondNode} {
		n := &placedNode{number: number}
		x.members[i] = n
		n.head = headlink.NewClient(headlink.ClientOptions{Number: number, ID: ids.NewNode(), Node: n, Placed: n, Log: quiet})
		n.Session = between.JoinWith(t, number, int64(i+1), func(o *daemon.Options) {
			o.Cluster = n.head
			o.Succeed = func(u *net.UnixConn, token string) error { return Succeed(u, o.SessionDir+"/d.sock", token) }
			o.Totals[map[uint32]string{firstNode: "a", secondNode: "b"}[number]] = resource.Unit
		})
		t.Cleanup(n.head.Close)
		x.connect(n)
	}
	x.real = joinReal(t, x.members[0].Session)
	return x
}

// connect connects a node with the head.
func (x *placed) connect(n *placedNode) {
	here, there := net.Pipe()
	at := wire.NewPeer(there, func(m *wire.Message) { x.server.Handle(m) }, nil)
	x.server.Connected(n.number, at)
	at.Start()
	from := wire.NewPeer(here, func(m *wire.Message) { n.head.Handle(m) }, nil)
	n.head.Connected(from)
	from.Start()
	n.cut = from.Close
}

// needs submits a task that needs these resources.
func (x *placed) needs(name, text string, need map[string]float64) ids.Object {
	x.t.Helper()
	return submitText(x.t, x.Client, x.template(name, 0, func(t *Template) { t.Resources = play.Units(need) }), text)
}

// workers returns how many workers a node has.
func (n *placedNode) workers() uint64 {
	n.T.Helper()
	var found map[string]uint64
	n.Tool().Call(wire.TFootprint, wire.FootprintAsk{}, &found)
	return found["n_workers"]
}

// settled waits until all leases have come back to the second node, and the head has nothing to decide.
func (x *placed) settled() {
	x.t.Helper()
	x.eventually("the leases go back and the head knows it", func() bool {
		free, sizes := x.members[1].Tool().Info().Available, x.server.Sizes()
		return free["CPU"] == 20000 && free["b"] == 10000 && sizes["tickets"] == 0 && sizes["wants"] == 0
	})
}

// A class that fits the second node only: the driver's daemon has no room, the head offers the other node, the driver is
// its guest and is granted a lease with the ticket, the task runs there, and the lease and the ticket come back.
func TestRealPlaced_OnlyTheOtherNodeFits_TheTaskRunsThere(t *testing.T) {
	x := startPlaced(t)
	b := map[string]float64{"CPU": 1, "b": 1}
	before := x.members[1].workers()
	x.expect(x.needs("echo", "there", b), "there", "")
	if now := x.members[1].workers(); before != 0 || now == 0 {
		t.Errorf("the second node had %d workers and has %d", before, now)
	}
	if n := x.Footprint(false)["n_guests"]; n != 1 {
		t.Errorf("the driver is a guest of %d nodes", n)
	}
	x.settled()
	var refs []ids.Object
	for i := range 40 {
		refs = append(refs, x.needs("echo", fmt.Sprint(i), b))
	}
	for i, ref := range refs {
		x.expect(ref, fmt.Sprint(i), "")
	}
	x.settled()
	x.Close(0)
	x.eventually("nothing of the driver stays", func() bool {
		return x.members[1].Tool().Info().Available["CPU"] == 20000 && x.server.Sizes()["wants"] == 0
	})
}

// The driver's own node has no room for what fits it, so the rest goes to the other node.
func TestRealPlaced_OwnNodeIsFull_TasksGoToTheOtherNode(t *testing.T) {
	x := startPlaced(t)
	path := x.file()
	var waits []ids.Object
	for i := range 3 { // one CPU here and two there
		waits = append(waits, x.needs("wait", fmt.Sprint(path, i), play.OneCPU))
	}
	x.eventually("all three run at once", func() bool {
		return runsIn(path+"0.begun") == 1 && runsIn(path+"1.begun") == 1 && runsIn(path+"2.begun") == 1
	})
	for i, ref := range waits {
		if err := os.WriteFile(fmt.Sprint(path, i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		x.expect(ref, "went on", "")
	}
	x.settled()
}

// What no node has fails with the head's words.
func TestRealPlaced_NoNodeFits_TheTaskFails(t *testing.T) {
	x := startPlaced(t)
	code, words, _ := faultIn(t, x.Client, x.needs("echo", "x", map[string]float64{"b": 2}))
	if code != fault.TaskUnschedulable || !strings.Contains(words, `task echo needs {"b": 2} but the nodes of the cluster have at most {"b": 1}`) {
		t.Errorf("%s: %s", code, words)
	}
	x.settled()
}

// A connection with the head that breaks loses nothing: what was wanted and what was free is said again.
func TestRealPlaced_HeadIsCutOff_TasksGoOnAfterwards(t *testing.T) {
	x := startPlaced(t)
	b := map[string]float64{"CPU": 1, "b": 1}
	x.expect(x.needs("echo", "before", b), "before", "")
	for _, n := range x.members {
		n.cut()
	}
	x.settledOnTheNode()
	later := x.needs("echo", "after", b)
	x.eventually("the daemon wants the lease", func() bool { return x.members[0].Tool().Info().Pending["echo"] == 1 })
	for _, n := range x.members {
		x.connect(n)
	}
	x.expect(later, "after", "")
	x.settled()
}

// settledOnTheNode waits until all leases have come back to the second node.
func (x *placed) settledOnTheNode() {
	x.t.Helper()
	x.eventually("the leases go back", func() bool { return x.members[1].Tool().Info().Available["b"] == 10000 })
}
