package metrics

import (
	"context"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Node is the daemon.
type Node interface {
	// Use returns what the node has, and what of it is in use.
	Use() wire.NodeUse
	// Here asks the processes of the node what they do. It waits for them, and not for long.
	Here(ctx context.Context, q *wire.CensusAsk, patience time.Duration) *wire.NodeCensus
}

// askWait is how long the processes of the node may take to say what they do. Those that do not answer are left out.
const askWait = time.Second

// maxNames is how many functions and classes have series of their own; the others are counted together, under an empty name.
const maxNames = 500

// figure is a metric of the node itself.
type figure struct {
	name, help string
	kind       dto.MetricType
}

var (
	resources   = figure{prefix + "resources", "Resources of the node, by state: USED or AVAILABLE.", dto.MetricType_GAUGE}
	storeFree   = figure{prefix + "object_store_available_memory", "Bytes of the object store that are free.", dto.MetricType_GAUGE}
	storeUsed   = figure{prefix + "object_store_used_memory", "Bytes of the object store that are in use.", dto.MetricType_GAUGE}
	objects     = figure{prefix + "object_store_num_local_objects", "Objects in the object store.", dto.MetricType_GAUGE}
	tasks       = figure{prefix + "tasks", "Tasks and actor calls by state. Running ones are counted where they run, others where they were submitted.", dto.MetricType_GAUGE}
	actors      = figure{prefix + "actors", "Actors that run on the node.", dto.MetricType_GAUGE}
	jobs        = figure{prefix + "running_jobs", "Drivers that run on the node.", dto.MetricType_GAUGE}
	workers     = figure{"eagleray_workers", "Worker processes of the node.", dto.MetricType_GAUGE}
	pending     = figure{"eagleray_pending_leases", "Leases of workers that wait for resources of the node.", dto.MetricType_GAUGE}
	refusedRows = figure{"eagleray_metrics_refused_total", "Series that programs have reported and that were not taken.", dto.MetricType_COUNTER}
)

var figures = []figure{resources, storeFree, storeUsed, objects, tasks, actors, jobs, workers, pending, refusedRows}

// reserved reports whether a name is that of a figure of the node.
func reserved(name string) bool {
	return slices.ContainsFunc(figures, func(f figure) bool { return f.name == name })
}

// sheet collects the figures of one scrape.
type sheet struct {
	session *Session
	list    []*dto.MetricFamily
	byName  map[string]*dto.MetricFamily
}

// add adds a row. tags are names and values in turn.
func (s *sheet) add(f figure, value float64, tags ...string) {
	out := s.byName[f.name]
	if out == nil {
		out = &dto.MetricFamily{Name: proto.String(f.name), Help: proto.String(f.help), Type: f.kind.Enum()}
		s.byName[f.name] = out
		s.list = append(s.list, out)
	}
	var names, values []string
	for i := 0; i < len(tags); i += 2 {
		names, values = append(names, tags[i]), append(values, tags[i+1])
	}
	m := &dto.Metric{Label: s.session.labels("raylet", "", names, values)}
	if f.kind == dto.MetricType_COUNTER {
		m.Counter = &dto.Counter{Value: proto.Float64(value)}
	} else {
		m.Gauge = &dto.Gauge{Value: proto.Float64(value)}
	}
	out.Metric = append(out.Metric, m)
}

// nodeFamilies returns the figures of the node.
func nodeFamilies(ctx context.Context, node Node, session *Session, refused uint64) []*dto.MetricFamily {
	s := &sheet{session: session, byName: map[string]*dto.MetricFamily{}}
	use := node.Use()
	for name, total := range use.Resources {
		free := use.Available[name]
		s.add(resources, float64(total-free)/float64(resource.Unit), "Name", name, "State", "USED")
		s.add(resources, float64(free)/float64(resource.Unit), "Name", name, "State", "AVAILABLE")
	}
	s.add(storeUsed, float64(use.Store.Used))
	s.add(storeFree, float64(use.Store.Capacity-min(use.Store.Used, use.Store.Capacity)))
	s.add(objects, float64(use.Store.Objects))
	s.add(jobs, float64(use.Jobs))
	s.add(workers, float64(use.Workers))
	waiting := 0
	for _, n := range use.Pending {
		waiting += n
	}
	s.add(pending, float64(waiting))
	s.add(actors, float64(use.Actors), "State", "ALIVE")
	s.add(refusedRows, float64(refused))
	s.addTasks(node.Here(ctx, &wire.CensusAsk{Limit: maxNames, Tasks: true}, askWait))
	return s.list
}

// row is what tasks are counted by.
type row struct{ name, state string }

// addTasks counts tasks.
func (s *sheet) addTasks(here *wire.NodeCensus) {
	counts := map[row]float64{}
	known := map[string]bool{}
	count := func(name, state string, n float64) {
		if n == 0 {
			return
		}
		if !known[name] && len(known) >= maxNames {
			name = ""
		}
		known[name] = true
		counts[row{name, state}] += n
	}
	running := map[string]bool{}
	for i := range here.Processes {
		for _, t := range here.Processes[i].Ran {
			if t.State == wire.TaskRunning {
				running[string(t.TaskID)] = true
				count(t.Name, t.State, 1)
			}
		}
	}
	for i := range here.Processes {
		p := &here.Processes[i]
		for _, t := range p.Tasks {
			if !running[string(t.TaskID)] {
				count(t.Name, t.State, 1)
			}
		}
		count("", "PENDING_NODE_ASSIGNMENT", float64(max(p.Open-len(p.Tasks), 0))) // beyond those that a process lists
		for _, e := range p.ByMaker {
			count(e.Name, "FINISHED", float64(e.Finished))
			count(e.Name, "FAILED", float64(e.Failed))
		}
	}
	for r, n := range counts {
		s.add(tasks, n, "Name", r.name, "State", r.state)
	}
}
