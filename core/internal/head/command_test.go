package head_test

import (
	"strconv"
	"strings"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/tests/script"
)

func actorID(s string) (id ids.Actor) { copy(id[:], s[:1]); return id }

func ownerID(s string) (id ids.Owner) { copy(id[:], s); return id }

func nodeID(s string) (id ids.Node) { copy(id[:], s); return id }

func groupID(s string) (id ids.Group) { copy(id[:], s[:1]); return id }

// actorOf is actorID of a name that may be absent.
func actorOf(s string) (id ids.Actor) { copy(id[:], s); return id }

// groupStrategy is the strategy of an actor that runs in the first bundle of a group; "": in none.
func groupStrategy(group string) string {
	if group == "" {
		return ""
	}
	return strategy.Strategy{Kind: strategy.Group, Group: groupID(group)}.Text()
}

// number returns the number of the word key=number; 0: there is none.
func number(e *script.Event, key string) int {
	n, _ := e.OptionNumber(key)
	return n
}

// instance reads A#1, with node= and worker=.
func instance(e *script.Event) record.Instance {
	id, n, _ := strings.Cut(e.Word(0), "#")
	inc, _ := strconv.ParseUint(n, 10, 64)
	i := record.Instance{Actor: actorID(id), Incarnation: inc, Node: nodeID(e.Option("node"))}
	if w := e.Option("worker"); w != "" {
		copy(i.Worker[:], w)
		i.Address, i.Pid = "/s/"+w, int(w[0])
	}
	return i
}

// command runs one line of a script.
func (p *play) command(e *script.Event) error {
	h := p.head
	cause := record.Cause{Reason: record.Reason(e.Option("reason")), Message: strings.ReplaceAll(e.Option("message"), "_", " ")}
	switch e.Name {
	case "create":
		return h.CreateActor(p.ctx, record.Actor{
			ID: actorID(e.Word(0)), ClassName: e.Word(0), Job: ids.JobOf(uint32(number(e, "job"))), Name: e.Option("name"), Namespace: e.Option("ns"),
			Owner: ownerID(e.Option("owner")), MaxRestarts: number(e, "max_restarts"), Detached: e.Has("detached"),
			Spec: []byte("spec of " + e.Word(0)), Meta: []byte("meta"), Strategy: groupStrategy(e.Option("group")),
		})
	case "create-group": // create-group G bundles=2
		g := record.Group{
			ID: groupID(e.Word(0)), Job: ids.JobOf(uint32(number(e, "job"))), Name: e.Option("name"), Namespace: e.Option("ns"), Detached: e.Has("detached"),
			Actor: actorOf(e.Option("actor")), Strategy: "PACK",
		}
		for range max(1, number(e, "bundles")) {
			g.Bundles = append(g.Bundles, record.Bundle{Resources: record.Resources{"CPU": 10000}})
		}
		return h.CreateGroup(p.ctx, g)
	case "group-prepared": // group-prepared G EPOCH NODES
		var on []ids.Node
		for _, n := range e.Word(2) {
			on = append(on, nodeID(string(n)))
		}
		h.GroupPrepared(groupID(e.Word(0)), uint64(e.Int(1)), on)
	case "group-infeasible":
		h.GroupInfeasible(groupID(e.Word(0)), strings.ReplaceAll(e.Option("message"), "_", " "))
	case "remove-group":
		return h.RemoveGroup(p.ctx, groupID(e.Word(0)))
	case "placed":
		h.ActorPlaced(instance(e))
	case "started":
		h.ActorStarted(instance(e))
	case "start-failed":
		h.ActorStartFailed(instance(e), cause)
	case "worker-died":
		h.ActorWorkerDied(instance(e), cause)
	case "exited":
		h.ActorExited(instance(e), cause)
	case "infeasible":
		h.ActorInfeasible(instance(e), cause.Message)
	case "feasible":
		h.ActorFeasible(instance(e))
	case "kill":
		return h.KillActor(p.ctx, actorID(e.Word(0)), e.Has("no_restart"))
	case "release":
		h.ReleaseActor(actorID(e.Word(0)))
	case "owner-died":
		h.OwnerDied(ownerID(e.Word(0)))
	case "node":
		return h.RegisterNode(p.ctx, record.Node{ID: nodeID(e.Word(0)), Resources: record.Resources{"CPU": 20000}})
	case "node-died":
		h.NodeDied(nodeID(e.Word(0)), "no_heartbeat")
	case "job":
		id, err := h.StartJob(p.ctx, record.Job{Entrypoint: e.Word(0)})
		p.note("job %d", record.JobNumber(id))
		return err
	case "end-job":
		h.EndJob(ids.JobOf(uint32(e.Int(0))), record.JobFinished, "")
	case "reopen": // a new leader, after the old one fell
		p.head.Close()
		p.head = p.open()
	default:
		return p.look(e)
	}
	return nil
}

// look runs the commands that only read.
func (p *play) look(e *script.Event) error {
	h := p.head
	switch e.Name {
	case "wait", "wait-end":
		name := e.Word(1)
		ask := func(id ids.Actor, after uint64, done func(record.Resolution, error)) func() bool {
			return h.Resolve(id, after, 0, done)
		}
		if e.Name == "wait-end" {
			ask = h.Ended
		}
		var failed error
		p.cancel[name] = ask(actorID(e.Word(0)), uint64(number(e, "after")), func(r record.Resolution, err error) {
			if err != nil {
				failed = err
				return
			}
			said := shorten(r.String())
			if r.State == record.ActorDead {
				said += " (" + string(r.Actor.Cause.Fault()) + ")"
			}
			p.note("tell %s: %s", name, said)
		})
		return failed // known before ask returns
	case "wait-group": // wait-group G NAME seen=STATE
		name := e.Word(1)
		var failed error
		p.cancel[name] = h.AwaitGroup(groupID(e.Word(0)), record.GroupState(e.Option("seen")), 0, func(g record.Group, infeasible string, err error) {
			if failed = err; err == nil {
				p.note("tell %s: %c is %s %s%s", name, g.ID[0], g.State, infeasible, g.Why)
			}
		})
		return failed // known before AwaitGroup returns
	case "show-group":
		g, err := h.Group(p.ctx, groupID(e.Word(0)))
		if err != nil {
			return err
		}
		p.note("%s#%d on %s created=%d placed=%d ended=%d %s", g.State, g.Epoch, nodeLetters(g.Nodes), g.CreatedMs, g.PlacedMs, g.EndedMs, g.Why)
	case "group-named":
		g, err := h.GroupNamed(p.ctx, e.Option("ns"), e.Word(0))
		if err != nil {
			return err
		}
		p.note("%c", g.ID[0])
	case "groups":
		list, err := h.Groups(p.ctx)
		for _, g := range list {
			p.note("%c %s", g.ID[0], g.State)
		}
		return err
	case "cancel":
		p.note("%t", p.cancel[e.Word(0)]())
	case "show":
		r, err := h.Actor(p.ctx, actorID(e.Word(0)))
		if err != nil {
			return err
		}
		p.show(r)
	case "named":
		r, err := h.GetNamed(p.ctx, e.Option("ns"), e.Word(0))
		if err != nil {
			return err
		}
		p.note("%s meta=%q", inst(r.Instance()), r.Meta)
	case "names":
		names, err := h.ListNamed(p.ctx, e.Option("ns"), e.Has("all"))
		for _, n := range names {
			p.note("%s/%s", n.Namespace, n.Name)
		}
		return err
	case "nodes":
		nodes, err := h.Nodes(p.ctx)
		for _, n := range nodes {
			p.note("%c %s %s", n.ID[0], n.State, n.Reason)
		}
		return err
	case "jobs":
		jobs, err := h.Jobs(p.ctx)
		for _, j := range jobs {
			p.note("%d %s %s started=%d ended=%d", record.JobNumber(j.ID), j.Entrypoint, j.State, j.StartedMs, j.EndedMs)
		}
		return err
	default:
		e.Unknown()
	}
	return nil
}
