package sched

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts runs testdata/*.txt: each line is an event, the indented lines
// after it are the actions that it must cause, in order.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) string {
		s := &interpreter{t: t}
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
	switch e.Name {
	case "node":
		s.node(e)
	case "job":
		m.AddJob(ids.JobOf(uint32(e.Int(0))), e.Option("env"))
	case "endjob":
		m.RemoveJob(ids.JobOf(uint32(e.Int(0))))
	case "client":
		m.AddClient(ClientID(e.Int(0)), ids.JobOf(uint32(e.Int(1))))
	case "guest":
		m.AddGuest(ClientID(e.Int(0)), ids.JobOf(uint32(e.Int(1))))
	case "offered":
		take := m.Offered(ClientID(e.Int(0)), ClassID(e.Int(1)), e.Int(2))
		return append([]string{fmt.Sprintf("%d taken", take)}, s.actions()...)
	case "offeredhere": // offeredhere CLIENT CLASS N TICKET
		m.OfferedHere(ClientID(e.Int(0)), ClassID(e.Int(1)), e.Int(2), uint64(e.Int(3)))
	case "company":
		m.SetCompany(e.Word(0) == "yes")
	case "infeasible":
		m.Infeasible(ClientID(e.Int(0)), ClassID(e.Int(1)), "no node has that", false)
	case "gone":
		m.RemoveClient(ClientID(e.Int(0)))
	case "class":
		m.DefineClass(ClientID(e.Int(0)), s.class(ClassID(e.Int(1)), e))
	case "retire":
		m.RetireClass(ClientID(e.Int(0)), ClassID(e.Int(1)))
	case "want":
		w := WantUpdate{N: e.Int(2)}
		if seen, there := e.OptionNumber("seen"); there {
			w.Seen = uint64(seen) + 1
		}
		w.Due, _ = e.OptionNumber("due")
		ms, _ := e.OptionNumber("next")
		w.Next = time.Duration(ms) * time.Millisecond
		for _, near := range e.List(e.Option("near")) {
			n, err := strconv.ParseUint(near, 10, 32)
			if err != nil {
				s.t.Fatal(err)
			}
			w.Near = append(w.Near, uint32(n))
		}
		ticket, _ := e.OptionNumber("ticket")
		w.Ticket, w.Recall = uint64(ticket), e.Has("recall")
		m.UpdateWant(ClientID(e.Int(0)), ClassID(e.Int(1)), w)
	case "undelivered":
		m.Undelivered(Grant{Client: ClientID(e.Int(0)), Class: ClassID(e.Int(1)), Due: e.Has("due")})
	case "return":
		m.Return(ClientID(e.Int(0)), LeaseID(e.Int(1)), e.Has("exiting"), e.Has("unusable"))
	case "move":
		m.Move(ClientID(e.Int(0)), LeaseID(e.Int(1)), ClassID(e.Int(2)))
	case "block":
		m.Block(WorkerID(e.Int(0)))
	case "unblock":
		m.Unblock(WorkerID(e.Int(0)))
	case "ready":
		for _, w := range e.Ints() {
			m.WorkerReady(WorkerID(w))
		}
	case "failed":
		m.WorkerFailed(WorkerID(e.Int(0)), "no module named zygote")
	case "leaving":
		m.Leaving(WorkerID(e.Int(0)))
	case "exit":
		for _, w := range e.Ints() {
			m.WorkerGone(WorkerID(w))
		}
	case "actor":
		ticket, _ := e.OptionNumber("ticket")
		c, run := s.class(0, e), need(s.t, e.Option("run"))
		if g := c.Strategy; g.Kind == strategy.Group {
			run = resource.InBundle(run, resource.BundleID{Group: g.Group.String(), Index: g.Bundle})
		}
		m.PlaceActor(actorNumber(e.Int(0)), ids.JobOf(uint32(e.Int(1))), c, run, uint64(ticket))
	case "prepare": // prepare GROUP JOB needs=CPU:1|CPU:2 index=… epoch=… ticket=… for=MS
		b := Bundles{Group: groupNumber(e.Int(0)), Name: fmt.Sprintf("group %d", e.Int(0)), Epoch: 1}
		for i, text := range strings.Split(e.Option("needs"), "|") {
			b.Index, b.Needs = append(b.Index, i), append(b.Needs, need(s.t, text))
		}
		for i, text := range e.List(e.Option("index")) {
			b.Index[i], _ = strconv.Atoi(text)
		}
		if epoch, there := e.OptionNumber("epoch"); there {
			b.Epoch = uint64(epoch)
		}
		ticket, _ := e.OptionNumber("ticket")
		ms, _ := e.OptionNumber("for")
		b.Ticket, b.For = uint64(ticket), time.Duration(ms)*time.Millisecond
		m.PrepareBundles(ids.JobOf(uint32(e.Int(1))), b)
	case "commit": // commit GROUP EPOCH
		m.CommitBundles(groupNumber(e.Int(0)), uint64(e.Int(1)))
	case "undo": // undo GROUP TICKET
		m.UnprepareBundles(groupNumber(e.Int(0)), uint64(e.Int(1)))
	case "drop":
		m.DropBundles(groupNumber(e.Int(0)))
	case "kept":
		var lines []string
		for _, k := range m.KeptBundles() {
			lines = append(lines, fmt.Sprintf("of group %d#%d, ticket %d, bundle %d and others, open: %v", k.Group[0], k.Epoch, k.Ticket, k.Index, k.Open))
		}
		return lines
	case "groupwaits":
		m.GroupWaits(groupNumber(e.Int(0)))
	case "groupfails": // groupfails GROUP removed|unschedulable
		m.GroupFails(groupNumber(e.Int(0)), fault.Code("placement_group_"+e.Word(1)), "as the head says")
	case "cancel":
		m.CancelActor(actorNumber(e.Int(0)))
	case "drain":
		m.Drain()
	case "idle":
		return []string{strconv.FormatBool(m.IsIdle())}
	case "time":
		m.Advance(time.Duration(e.Int(0)) * time.Millisecond)
	case "next":
		if at, ok := m.Next(); ok {
			return []string{at.String()}
		}
		return []string{"never"}
	case "explain":
		return []string{m.Explain(ClientID(e.Int(0)), ClassID(e.Int(1)))}
	case "explainactor":
		return []string{m.ExplainActor(actorNumber(e.Int(0)))}
	case "leases":
		var lines []string
		for _, l := range m.LeasesOf(ClientID(e.Int(0))) {
			lines = append(lines, fmt.Sprintf("lease %d on worker %d", l, m.WorkerOf(ClientID(e.Int(0)), l)))
		}
		return lines
	case "workerof":
		return []string{fmt.Sprint(m.WorkerOf(ClientID(e.Int(0)), LeaseID(e.Int(1))))}
	case "free":
		return []string{m.Free().String()}
	case "demands":
		var lines []string
		for _, d := range m.Demands() {
			lines = append(lines, fmt.Sprintf("%d %s %s", d.N, d.Name, d.Need))
		}
		return lines
	case "pending":
		return []string{fmt.Sprint(m.Pending())}
	default:
		e.Unknown()
	}
	return s.actions()
}

func (s *interpreter) actions() (lines []string) {
	for _, a := range s.m.Actions() {
		lines = append(lines, a.String())
	}
	return lines
}

func (s *interpreter) node(e *script.Event) {
	devices := make(map[string][]string)
	if g := e.Option("gpus"); g != "" {
		devices["GPU"] = strings.Split(g, ",")
	}
	l, err := resource.NewLedger(need(s.t, e.Option("totals")), devices)
	if err != nil {
		s.t.Fatal(err)
	}
	n := func(name string, absent int) int {
		if v, there := e.OptionNumber(name); there {
			return v
		}
		return absent
	}
	s.m = New(Options{Ledger: l, MaxIdle: n("idle", 2), MaxStarts: n("starts", 4), WaitForFit: e.Has("wait"), Cluster: e.Has("cluster"), Node: ids.Node{1}, Number: 1})
}

// class reads need=…, env=…, name=…, on=…, else=CPU:2|CPU:1 (with elserun=… of an
// actor) and after=30 (milliseconds).
func (s *interpreter) class(id ClassID, e *script.Event) Class {
	c := Class{ID: id, Need: need(s.t, e.Option("need")), Env: e.Option("env"), Name: e.Option("name")}
	switch where, how, _ := strings.Cut(e.Option("on"), ":"); where { // on=spread, on=NODE, on=NODE:fail, on=NODE:soft or on=NODE:spill
	case "":
	case "spread":
		c.Strategy.Kind = strategy.Spread
	case "group": // on=group:GROUP:INDEX
		var group int
		c.Strategy.Kind = strategy.Group
		if _, err := fmt.Sscanf(e.Option("on"), "group:%d:%d", &group, &c.Strategy.Bundle); err != nil {
			s.t.Fatal(err)
		}
		c.Strategy.Group = groupNumber(group)
		c.Need = resource.InBundle(c.Need, resource.BundleID{Group: c.Strategy.Group.String(), Index: c.Strategy.Bundle})
	default:
		n, err := strconv.ParseUint(where, 10, 8)
		if err != nil {
			s.t.Fatal(err)
		}
		c.Strategy = strategy.Strategy{Kind: strategy.Affinity, Node: ids.Node{byte(n)}, Soft: how == "soft" || how == "spill"}
		switch how {
		case "spill":
			c.Strategy.Busy = strategy.Spills
		case "fail":
			c.Strategy.Busy = strategy.Fails
		}
	}
	if e.Option("else") != "" {
		run := strings.Split(e.Option("elserun"), "|")
		for i, text := range strings.Split(e.Option("else"), "|") {
			o := Choice{Need: need(s.t, text)}
			if e.Option("elserun") != "" {
				o.Run = need(s.t, run[i])
			}
			c.Else = append(c.Else, o)
		}
	}
	ms, _ := e.OptionNumber("after")
	c.After = time.Duration(ms) * time.Millisecond
	return c
}

// need reads CPU:1,GPU:0.5.
func need(t *testing.T, text string) resource.Set {
	s := make(resource.Set)
	for _, part := range strings.Split(text, ",") {
		name, v, ok := strings.Cut(part, ":")
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			t.Fatal(err)
		}
		if s[name], err = resource.FromFloat(f); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func groupNumber(n int) ids.Group { return ids.Group{byte(n)} }

func actorNumber(n int) (a ActorID) {
	a.Actor[0], a.Actor[1] = byte(n>>8), byte(n)
	a.Incarnation = 1
	return a
}
