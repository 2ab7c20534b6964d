package client

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// otherNode plays the daemon of another node. It lends workers of the test, as the fake daemon does, under
// numbers of its own.
type otherNode struct {
	d     *fakeDaemon // whose lock guards the rest
	id    ids.Node
	hello *wire.Hello
	peer  *wire.Peer
	heard []string
	given uint64
	keeps bool // it grants nothing
}

// otherNumber is the number of the other node.
const otherNumber = 7

// startOther plays another node that the daemon's clients can reach. The own daemon grants nothing from then on
// and offers the other node's leases instead, each want once.
func startOther(d *fakeDaemon) *otherNode {
	o := &otherNode{d: d, id: ids.NewNode()}
	d.mu.Lock()
	d.reaches = o.welcome
	d.mu.Unlock()
	d.answers(wire.TLeaseWant, func(m *wire.Message) bool {
		var w wire.LeaseWant
		_ = m.Decode(&w)
		if w.Want > 0 {
			_ = m.Peer().Push(wire.TLeaseOffer, wire.LeaseOffer{ClassID: w.ClassID, Node: otherNumber, N: w.Want, Ticket: w.Seen, Env: &wire.EnvSpec{Key: "e"}})
		}
		return true
	})
	return o
}

func (o *otherNode) welcome(u *net.UnixConn, target []byte) {
	h, err := wire.ReadHello(u)
	if err != nil || ids.Owner(target) != ids.DaemonOn(otherNumber) {
		_ = wire.RefuseHello(u, errors.New("nobody is there"))
		u.Close()
		return
	}
	if err := wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version, NodeID: o.id[:]}, -1); err != nil {
		u.Close()
		return
	}
	p := wire.NewPeer(u, o.handle, nil)
	o.d.t.Cleanup(p.Close)
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	o.hello, o.peer = h, p
	p.Start()
}

func (o *otherNode) handle(m *wire.Message) {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	note := func(format string, a ...any) { o.heard = append(o.heard, fmt.Sprintf(format, a...)) }
	switch m.Type {
	case wire.TWhoHolds: // the process measures how far away this node is
		_ = m.Reply("nothing of it waits for a worker")
	case wire.TEnvDefine:
		var e wire.EnvSpec
		_ = m.Decode(&e)
		note("environment %s", e.Key)
	case wire.TClassDefine:
		var k wire.ClassDefine
		_ = m.Decode(&k)
		note("class %s", k.Name)
	case wire.TLeaseWant:
		var w wire.LeaseWant
		_ = m.Decode(&w)
		note("want %d, ticket %d", w.Want, w.Ticket)
		for ; w.Want > 0 && !o.keeps && len(o.d.idle) > 0; w.Want-- {
			o.given++
			_ = m.Peer().Push(wire.TLeaseGrant, wire.LeaseGrant{ClassID: w.ClassID, LeaseID: otherNumber<<32 | o.given, Addr: o.d.idle[0]})
			o.d.idle = o.d.idle[1:]
		}
	case wire.TLeaseReturn:
		var r wire.LeaseReturn
		_ = m.Decode(&r)
		note("lease %d of node %d returned", uint32(r.LeaseID), r.LeaseID>>32)
	default:
		note("%s", m.Type)
	}
}

// hears waits until the daemon has heard this, and nothing else, since the last call.
func (o *otherNode) hears(want ...string) {
	o.d.t.Helper()
	o.d.eventually(fmt.Sprintf("the other node hears %q", want), func() bool { return len(o.heard) >= len(want) })
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	if !slices.Equal(o.heard, want) {
		o.d.t.Errorf("the other node hears %q, want %q", o.heard, want)
	}
	o.heard = nil
}

// says has the other node's daemon send a message.
func (o *otherNode) says(t wire.Type, body any) {
	o.d.t.Helper()
	o.d.mu.Lock()
	p := o.peer
	o.d.mu.Unlock()
	if err := p.Push(t, body); err != nil {
		o.d.t.Fatal(err)
	}
}

// envTemplate makes a function of an environment.
func envTemplate(t *testing.T, c *Client, env string, retries int) int {
	t.Helper()
	id, err := c.NewTemplate(&Template{Kind: KindTask, Name: "f", FID: []byte("ffffffffffffffff"), Blob: []byte("f"), Returns: 1, EnvKey: env, MaxRetries: retries})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// An offered lease is asked for, granted, used and given back at the other node. The own daemon hears nothing of it.
func TestOffer_TaskRunsAtTheOtherNode(t *testing.T) {
	d := startDaemon(t)
	o := startOther(d)
	d.worker(echo)
	d.eventually("the worker is there", func() bool { return len(d.idle) == 1 })
	c := d.driverWith(Options{Job: wire.JobStart{Env: wire.EnvSpec{Key: "e"}}})
	if got := get(t, c, submitText(t, c, envTemplate(t, c, "e", 0), "over there")); got != "over there" {
		t.Errorf("got %q", got)
	}
	o.hears("environment e", "class f", "want 1, ticket 1")
	d.mu.Lock()
	h := *o.hello
	d.mu.Unlock()
	if info := c.Info(); h.Role != wire.RoleGuest || string(h.OwnerID) != string(c.self[:]) || h.Addr != info.Addr || string(h.JobID) != string(info.Job[:]) || h.Namespace != "test" {
		t.Errorf("the guest says %+v", h)
	}
	if f := c.Footprint(false); f["n_guests"] != 1 || f["n_leases"] != 1 {
		t.Errorf("%d guests with %d leases", f["n_guests"], f["n_leases"])
	}
	o.says(wire.TLeaseRecall, wire.LeaseRef{LeaseID: otherNumber<<32 | 1})
	o.hears("lease 1 of node 7 returned")
	d.says(c) // it has heard what came before
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.given > 0 {
		t.Error("the own daemon is given the other node's lease")
	}
}

// The own daemon is asked for what the other node refuses, or cannot give because of the class's environment.
func TestOffer_IsNotKept(t *testing.T) {
	d := startDaemon(t)
	o := startOther(d)
	o.keeps = true
	c := d.driver()
	tm := envTemplate(t, c, "e", 0)
	x := submitText(t, c, tm, "x")
	o.hears("environment e", "class f", "want 1, ticket 1")
	o.says(wire.TLeaseRefused, wire.LeaseRefused{ClassID: 0, N: 1})
	o.hears("want 1, ticket 2")
	o.says(wire.TClassInfeasible, wire.ClassTrouble{ClassID: 0, Message: "it is too small"})
	o.hears("want 0, ticket 0", "want 1, ticket 3")
	o.says(wire.TClassInfeasible, wire.ClassTrouble{ClassID: 0, Message: "no such package", Code: string(fault.RuntimeEnvSetup)})
	if code, words, _ := faultIn(t, c, x); code != fault.RuntimeEnvSetup || words != "no such package" {
		t.Errorf("%s, %s", code, words)
	}
	o.hears("want 0, ticket 0")
}

// The tasks of a lost node run elsewhere if they may, and the others name the node.
func TestHomeLost_TasksAreRetriedOrFail(t *testing.T) {
	d := startDaemon(t)
	o := startOther(d)
	runs, goOn := make(chan string, 2), make(chan struct{})
	var workers []*Client
	for range 2 {
		workers = append(workers, d.worker(func(c *Client, it *Item) {
			runs <- textOf(it)
			<-goOn
			_ = c.Reply(it.Token, []Value{{Fmt: FmtNone}}, 0) // its caller may have gone
		}))
	}
	t.Cleanup(func() { close(goOn) })
	d.eventually("the workers are there", func() bool { return len(d.idle) == 2 })
	c := d.driver()
	again := submitText(t, c, envTemplate(t, c, "a", 1), "again")
	<-runs
	once := submitText(t, c, envTemplate(t, c, "b", 0), "once")
	<-runs
	d.answers(wire.TLeaseWant, func(*wire.Message) bool { return false }) // it grants itself
	o.peer.Close()
	for _, w := range workers { // the pipes to them end with their node
		die(w)
	}
	if code, words, _ := faultIn(t, c, once); code != fault.NodeDied || !strings.Contains(words, "is lost with its node") || !strings.Contains(words, o.id.String()) {
		t.Errorf("%s, %s", code, words)
	}
	d.worker(echo)
	expectOutcome(t, c, "the task with a retry", again, "again", "")
	if n := c.Footprint(false)["n_guests"]; n != 0 {
		t.Errorf("%d guests", n)
	}
}

// A node that cannot be reached is no place to wait at: the own daemon is asked again.
func TestOffer_NodeCannotBeReached_OwnDaemonIsAsked(t *testing.T) {
	d := startDaemon(t)
	startOther(d)
	d.mu.Lock()
	d.reaches = func(u *net.UnixConn, _ []byte) {
		_ = wire.RefuseHello(u, fault.New(fault.BadRequest, "there is no way to node 7"))
		u.Close()
	}
	d.mu.Unlock()
	offers := 0
	before := d.first
	d.answers(wire.TLeaseWant, func(m *wire.Message) bool {
		if offers++; offers == 1 {
			return before(m)
		}
		return false
	})
	d.worker(echo)
	c := d.driver()
	if got := get(t, c, submitText(t, c, template(t, c, "f"), "here")); got != "here" {
		t.Errorf("got %q", got)
	}
}

// What no daemon says is not done, and the user hears of it.
func TestFromHome_Nonsense_IsRefused(t *testing.T) {
	d := startDaemon(t)
	o := startOther(d)
	o.keeps = true
	c := d.driver()
	x := submitText(t, c, envTemplate(t, c, "e", 0), "x")
	o.hears("environment e", "class f", "want 1, ticket 1")
	warned := func(what, want string) {
		t.Helper()
		if n := c.NextNote(testLimit); n == nil || !strings.Contains(n.Warning, want) {
			t.Errorf("%s: %+v, want %q", what, n, want)
		}
	}
	for what, say := range map[string]struct {
		t    wire.Type
		body any
		want string
	}{
		"a lease of its guest's node":        {wire.TLeaseGrant, wire.LeaseGrant{LeaseID: fakeNode<<32 | 1}, "node 5"},
		"the recall of another node's lease": {wire.TLeaseRecall, wire.LeaseRef{LeaseID: 1}, "node 0"},
		"another wanted":                     {wire.TLeaseWanted, wire.LeaseRef{LeaseID: 8 << 32}, "node 8"},
		"the end of another node's worker":   {wire.TLeaseBroken, wire.LeaseBroken{LeaseID: 8 << 32}, "node 8"},
		"output":                             {wire.TLogs, wire.LogBatch{}, "not for a guest"},
		"a refusal of nothing":               {wire.TLeaseRefused, wire.LeaseRefused{}, "0 leases are refused"},
		"a refusal of very much":             {wire.TLeaseRefused, wire.LeaseRefused{N: maxOffer + 1}, "1001 leases are refused"},
		"no lease":                           {wire.TLeaseGrant, "no lease", "understood"},
	} {
		o.says(say.t, say.body)
		warned(what, say.want)
	}
	for what, say := range map[string]struct {
		o    wire.LeaseOffer
		want string
	}{
		"an offer of nothing":      {wire.LeaseOffer{Node: otherNumber}, "an offer of 0 leases"},
		"an offer of very much":    {wire.LeaseOffer{Node: otherNumber, N: maxOffer + 1}, "1001 leases"},
		"an offer of the own node": {wire.LeaseOffer{Node: fakeNode, N: 1}, "of node 5"},
		"an offer of no node":      {wire.LeaseOffer{N: 1}, "of node 0"},
	} {
		d.says(c, push(wire.TLeaseOffer, say.o))
		warned(what, say.want)
	}
	o.says(wire.TLeaseRefused, wire.LeaseRefused{ClassID: 0, N: 1})
	o.hears("want 1, ticket 2")
	if err := c.Cancel(x, false, false); err != nil {
		t.Fatal(err)
	}
}
