package head_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/eagleray/eagleray/core/head"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// args are a command's words after the verb: positional ones and key=value.
type args []string

func (a args) at(i int) string {
	if i < len(a) {
		return a[i]
	}
	return ""
}

func (a args) has(flag string) bool { return slices.Contains(a, flag) }

func (a args) get(key string) string {
	for _, w := range a {
		if v, ok := strings.CutPrefix(w, key+"="); ok {
			return v
		}
	}
	return ""
}

func (a args) num(key string) int {
	n, _ := strconv.Atoi(a.get(key))
	return n
}

func actorID(s string) (id ids.Actor) { copy(id[:], s[:1]); return id }

func ownerID(s string) (id ids.Owner) { copy(id[:], s); return id }

func nodeID(s string) (id ids.Node) { copy(id[:], s); return id }

// instance reads A#1, with node= and worker=.
func (a args) instance() record.Instance {
	id, n, _ := strings.Cut(a.at(0), "#")
	inc, _ := strconv.ParseUint(n, 10, 64)
	i := record.Instance{Actor: actorID(id), Incarnation: inc, Node: nodeID(a.get("node"))}
	if w := a.get("worker"); w != "" {
		copy(i.Worker[:], w)
		i.Address, i.Pid = "/s/"+w, int(w[0])
	}
	return i
}

// command runs one line of a script.
func (p *play) command(words []string) error {
	verb, a := words[0], args(words[1:])
	h := p.head
	cause := record.Cause{Reason: record.Reason(a.get("reason")), Message: strings.ReplaceAll(a.get("message"), "_", " ")}
	switch verb {
	case "create":
		return h.CreateActor(p.ctx, record.Actor{
			ID: actorID(a.at(0)), ClassName: a.at(0), Job: ids.JobOf(uint32(a.num("job"))), Name: a.get("name"), Namespace: a.get("ns"),
			Owner: ownerID(a.get("owner")), MaxRestarts: a.num("max_restarts"), Detached: a.has("detached"),
			Spec: []byte("spec of " + a.at(0)), Meta: []byte("meta"),
		})
	case "placed":
		h.ActorPlaced(a.instance())
	case "started":
		h.ActorStarted(a.instance())
	case "start-failed":
		h.ActorStartFailed(a.instance(), cause)
	case "worker-died":
		h.ActorWorkerDied(a.instance(), cause)
	case "exited":
		h.ActorExited(a.instance(), cause)
	case "infeasible":
		h.ActorInfeasible(a.instance(), cause.Message)
	case "feasible":
		h.ActorFeasible(a.instance())
	case "kill":
		return h.KillActor(p.ctx, actorID(a.at(0)), a.has("no_restart"))
	case "release":
		h.ReleaseActor(actorID(a.at(0)))
	case "owner-died":
		h.OwnerDied(ownerID(a.at(0)))
	case "node":
		return h.RegisterNode(p.ctx, record.Node{ID: nodeID(a.at(0)), Resources: record.Resources{"CPU": 20000}})
	case "node-died":
		h.NodeDied(nodeID(a.at(0)), "no_heartbeat")
	case "job":
		id, err := h.StartJob(p.ctx, record.Job{Entrypoint: a.at(0)})
		p.note("job %d", record.JobNumber(id))
		return err
	case "end-job":
		n, _ := strconv.ParseUint(a.at(0), 10, 32)
		h.EndJob(ids.JobOf(uint32(n)), record.JobFinished, "")
	case "reopen": // a new leader, after the old one fell
		p.head.Close()
		p.head = p.open()
	default:
		return p.look(verb, a)
	}
	return nil
}

// look runs the commands that only read.
func (p *play) look(verb string, a args) error {
	h := p.head
	switch verb {
	case "wait", "wait-end":
		name, ask := a.at(1), h.Resolve
		if verb == "wait-end" {
			ask = h.Ended
		}
		cancel, err := ask(actorID(a.at(0)), uint64(a.num("after")), func(r head.Resolution) {
			said := shorten(r.String())
			if r.State == head.Dead {
				said += " (" + string(r.Actor.Cause.Fault()) + ")"
			}
			p.note("tell %s: %s", name, said)
		})
		p.cancel[name] = cancel
		return err
	case "cancel":
		p.note("%t", p.cancel[a.at(0)]())
	case "show":
		r, err := h.Actor(actorID(a.at(0)))
		if err != nil {
			return err
		}
		p.show(r)
	case "named":
		r, err := h.GetNamed(a.get("ns"), a.at(0))
		if err != nil {
			return err
		}
		p.note("%s meta=%q", inst(r.Instance()), r.Meta)
	case "names":
		for _, n := range h.ListNamed(a.get("ns"), a.has("all")) {
			p.note("%s/%s", n.Namespace, n.Name)
		}
	case "nodes":
		for _, n := range h.Nodes() {
			p.note("%c %s %s", n.ID[0], n.State, n.Reason)
		}
	case "jobs":
		for _, j := range h.Jobs() {
			p.note("%d %s %s started=%d ended=%d", record.JobNumber(j.ID), j.Entrypoint, j.State, j.StartedMs, j.EndedMs)
		}
	default:
		return fmt.Errorf("no such command: %s", verb)
	}
	return nil
}
