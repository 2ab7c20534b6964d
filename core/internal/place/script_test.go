package place

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts runs testdata/*.txt: each line is an event, the indented lines after it are the actions that it must
// cause, in order.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) string {
		s := &interpreter{t: t, m: New(Options{})}
		return script.Trace(t, src, s.do)
	})
}

// interpreter executes the lines of one script.
type interpreter struct {
	t *testing.T
	m *Machine
}

func (s *interpreter) do(e *script.Event) []string {
	m := s.m
	var err error
	switch e.Name {
	case "up": // up NODE…
		for _, n := range e.Ints() {
			m.NodeUp(Node(n))
		}
	case "silent":
		m.NodeSilent(Node(e.Int(0)))
	case "drain": // drain NODE yes|no
		m.Drain(Node(e.Int(0)), e.Word(1) == "yes")
	case "used":
		return []string{strconv.FormatBool(m.IsUsed(Node(e.Int(0))))}
	case "doubt": // doubt NODE yes|no
		m.Suspect(Node(e.Int(0)), e.Word(1) == "yes")
	case "gone":
		m.NodeGone(Node(e.Int(0)))
	case "report": // report NODE totals=… free=… gpus=…: all is free where free is absent
		err = m.Report(Node(e.Int(0)), s.stock(e))
	case "node": // up and report
		m.NodeUp(Node(e.Int(0)))
		err = m.Report(Node(e.Int(0)), s.stock(e))
	case "name": // name NODE: its id is this number
		m.Name(Node(e.Int(0)), ids.Node{byte(e.Int(0))})
	case "label": // label NODE zone=…
		m.Label(Node(e.Int(0)), map[string]string{"zone": e.Option("zone")})
	case "speaks": // speaks NODE PROTOCOL
		m.Speaks(Node(e.Int(0)), Protocol(e.Int(1)))
	case "died": // died NODE: the node with its name
		m.Died(ids.Node{byte(e.Int(0))}, Node(e.Int(0)))
	case "await":
		m.Await(e.Word(0) == "yes")
	case "want": // want NODE CLIENT CLASS N need=… else=…|… due=… seen=… job=… on=… labels=… near=… home
		err = m.Want(s.key(e), s.want(e))
	case "settled": // settled NODE TICKET TOOK free=…
		var stock *resource.Stock
		if e.Has("totals") {
			x := s.stock(e)
			stock = &x
		}
		err = m.Settled(Node(e.Int(0)), Ticket(e.Int(1)), e.Int(2), stock)
	case "unused": // unused NODE TICKET
		err = m.Settled(Node(e.Int(0)), Ticket(e.Int(1)), 0, nil)
	case "actor": // actor NUMBER HOME need=… else=… after=… at=… wait=yes on=… labels=…
		m.PlaceActor(s.actor(e))
	case "refused": // refused NODE NUMBER TICKET
		m.ActorRefused(Node(e.Int(0)), s.actorID(e.Int(1)), Ticket(e.Int(2)))
	case "over": // over NUMBER
		m.ActorGone(s.actorID(e.Int(0)))
	case "time":
		m.Advance(time.Duration(e.Int(0)) * time.Millisecond)
	case "next":
		if at, ok := m.Next(); ok {
			return []string{at.String()}
		}
		return []string{"never"}
	case "free":
		return []string{m.nodes[Node(e.Int(0))].ledger.Free().String()}
	default:
		e.Unknown()
	}
	var lines []string
	if err != nil {
		lines = append(lines, "error: "+err.Error())
	}
	for _, a := range m.Actions() {
		lines = append(lines, a.String())
	}
	return lines
}

func (s *interpreter) actorID(n int) ActorID {
	return ActorID{Actor: ids.Actor{byte(n)}, Incarnation: 1}
}

func (s *interpreter) actor(e *script.Event) Actor {
	a := Actor{ID: s.actorID(e.Int(0)), Home: Node(e.Int(1)), Name: "A", Needs: []resource.Set{amounts(s.t, e.Option("need"))}, Wait: e.Option("wait") == "yes", Strategy: s.strategy(e)}
	if e.Has("else") {
		for _, text := range strings.Split(e.Option("else"), "|") {
			a.Needs = append(a.Needs, amounts(s.t, text))
		}
	}
	if ms, there := e.OptionNumber("after"); there {
		a.After = time.Duration(ms) * time.Millisecond
	}
	if at, there := e.OptionNumber("at"); there {
		a.At = Node(at)
	}
	return a
}

func (s *interpreter) key(e *script.Event) Key {
	return Key{Node(e.Int(0)), uint64(e.Int(1)), uint32(e.Int(2))}
}

func (s *interpreter) want(e *script.Event) Want {
	number := func(name string, absent int) int {
		if n, there := e.OptionNumber(name); there {
			return n
		}
		return absent
	}
	w := Want{Job: ids.JobOf(uint32(number("job", 1))), Name: "f", Needs: []resource.Set{amounts(s.t, e.Option("need"))}, N: e.Int(3), Due: number("due", e.Int(3)), Offered: uint64(number("seen", 0))}
	w.Home = e.Has("home")
	for _, n := range e.List(e.Option("near")) {
		w.Near = append(w.Near, Node(amount(s.t, n)/resource.Unit))
	}
	w.Strategy = s.strategy(e)
	if e.Has("else") {
		for _, text := range strings.Split(e.Option("else"), "|") {
			w.Needs = append(w.Needs, amounts(s.t, text))
		}
	}
	return w
}

// stock reads totals=CPU:4 free=CPU:2 gpus=1,0.5.
func (s *interpreter) stock(e *script.Event) resource.Stock {
	x := resource.Stock{Totals: amounts(s.t, e.Option("totals"))}
	x.Free = x.Totals.Clone()
	if e.Has("free") {
		x.Free = amounts(s.t, e.Option("free"))
	}
	for _, part := range e.List(e.Option("gpus")) {
		if x.Devices == nil {
			x.Devices = map[string][]resource.DeviceStock{}
		}
		x.Devices["GPU"] = append(x.Devices["GPU"], resource.DeviceStock{Free: amount(s.t, part)})
	}
	return x
}

// amounts reads CPU:1,GPU:0.5.
func amounts(t *testing.T, text string) resource.Set {
	t.Helper()
	s := make(resource.Set)
	for _, part := range strings.Split(text, ",") {
		if name, v, ok := strings.Cut(part, ":"); ok {
			s[name] = amount(t, v)
		}
	}
	return s
}

func amount(t *testing.T, text string) resource.Amount {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return resource.Amount(f * float64(resource.Unit))
}

// strategy reads on=spread, on=NODE, on=NODE:fail, on=NODE:soft or on=NODE:spill, and labels=[…].
func (s *interpreter) strategy(e *script.Event) (x strategy.Strategy) {
	defer func() { x.Labels = e.Option("labels") }()
	switch where, how, _ := strings.Cut(e.Option("on"), ":"); where {
	case "":
	case "spread":
		x.Kind = strategy.Spread
	default:
		x = strategy.Strategy{Kind: strategy.Affinity, Node: ids.Node{byte(amount(s.t, where) / resource.Unit)}, Soft: how == "soft" || how == "spill"}
		switch how {
		case "spill":
			x.Busy = strategy.Spills
		case "fail":
			x.Busy = strategy.Fails
		}
	}
	return x
}
