package metrics

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// keepEnded is how long counters and histograms of a process stay that has ended.
const keepEnded = 10 * time.Minute

// Registry keeps the metrics of the processes of a node. A nil Registry takes none.
type Registry struct {
	mu        sync.Mutex
	families  map[string]*family
	processes map[uint64]*process
	ended     []*process // those that have left and have series, in the order of their ends
	size      int        // of all series
	refused   uint64
	now       func() time.Time
}

// family is a metric as all processes have it.
type family struct {
	name       string
	kind, help string
	boundaries []float64
	users      int // processes that have series of it
}

// process is a process that has reported.
type process struct {
	worker  string // its id in hex
	reports map[*family]map[string]*series
	size    int
	left    time.Time
}

// series is one row of a family. Rows of one family may have different tags.
type series struct {
	names  []string // of tags
	tags   []string // their values
	value  float64
	counts []uint64
	size   int
}

// New returns a Registry.
func New() *Registry {
	return &Registry{families: make(map[string]*family), processes: make(map[uint64]*process), now: time.Now}
}

// Serve takes the report of a process and answers it. id is the number of the process, which no other process of this node ever has.
func (r *Registry) Serve(id uint64, worker string, m *wire.Message) error {
	if r == nil {
		return m.Reply(wire.MetricsTaken{Off: true})
	}
	if len(m.Body) > maxReport {
		return fault.New(fault.BadRequest, "a report of metrics has %d bytes, at most %d are possible", len(m.Body), maxReport)
	}
	var report wire.MetricsReport
	if err := m.Decode(&report); err != nil {
		return err
	}
	return m.Reply(r.take(id, worker, &report))
}

func (r *Registry) take(id uint64, worker string, report *wire.MetricsReport) (out wire.MetricsTaken) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.processes[id]
	if p == nil {
		p = &process{worker: worker, reports: make(map[*family]map[string]*series)}
		r.processes[id] = p
	}
	refuse := func(n int, err error) {
		out.Refused += uint64(n)
		r.refused += uint64(n)
		if out.Why == "" {
			out.Why = err.Error()
		}
	}
	for i := range report.Metrics {
		m := &report.Metrics[i]
		f, err := r.familyOf(m)
		if err != nil {
			refuse(max(len(m.Series), 1), err)
			continue
		}
		for j := range m.Series {
			err := checkSeries(m, &m.Series[j])
			if err == nil {
				err = r.put(p, f, m.TagKeys, &m.Series[j])
			}
			if err != nil {
				refuse(1, err)
			}
		}
		if f.users == 0 {
			delete(r.families, f.name)
		}
	}
	return out
}

// familyOf returns the family of a metric, which is new if there is none of that name.
func (r *Registry) familyOf(m *wire.Metric) (*family, error) {
	if err := check(m); err != nil {
		return nil, err
	}
	name := shownName(m)
	f := r.families[name]
	if f == nil {
		if reserved(name) {
			return nil, fmt.Errorf("metric %s has the name of a figure of the node itself", m.Name)
		}
		if len(r.families) >= maxFamilies {
			return nil, fmt.Errorf("this node has %d metrics already: metric %s is not taken", maxFamilies, m.Name)
		}
		f = &family{name: name, kind: m.Kind, help: m.Help, boundaries: m.Boundaries}
		r.families[name] = f
		return f, nil
	}
	switch {
	case f.kind != m.Kind:
		return nil, fmt.Errorf("metric %s is a %s on this node already, and cannot be a %s, too", m.Name, f.kind, m.Kind)
	case !slices.Equal(f.boundaries, m.Boundaries):
		return nil, fmt.Errorf("histogram %s has other boundaries on this node already", m.Name)
	}
	return f, nil
}

// put enters or changes a series of a process.
func (r *Registry) put(p *process, f *family, names []string, in *wire.MetricSeries) error {
	key := strings.Join(slices.Concat(names, in.Tags), "\xff") // no UTF-8 has that byte
	rows := p.reports[f]
	if s := rows[key]; s != nil {
		s.value, s.counts = in.Value, in.Counts
		return nil
	}
	s := &series{names: names, tags: in.Tags, value: in.Value, counts: in.Counts}
	s.size = 300 + 2*len(key) + 40*len(in.Tags) + 8*len(in.Counts)
	if rows == nil {
		s.size += 500 + len(f.name) + len(f.help) + 8*len(f.boundaries)
	}
	if p.size+s.size > maxOfProcess {
		return fmt.Errorf("this process has metrics of %d bytes already, at most %d are possible: use fewer values of tags", p.size, maxOfProcess)
	}
	for r.size+s.size > maxOfNode && len(r.ended) > 0 {
		r.drop(r.ended[0])
		r.ended = r.ended[1:]
	}
	if r.size+s.size > maxOfNode {
		return fmt.Errorf("the processes of this node have metrics of %d bytes, at most %d are possible: use fewer values of tags", r.size, maxOfNode)
	}
	if rows == nil {
		rows = make(map[string]*series)
		p.reports[f] = rows
		f.users++
	}
	rows[key] = s
	p.size += s.size
	r.size += s.size
	return nil
}

// Gone notes that a process has left.
func (r *Registry) Gone(id uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.processes[id]
	if p == nil {
		return
	}
	delete(r.processes, id)
	for f := range p.reports {
		if f.kind == wire.MetricGauge {
			r.dropFamily(p, f)
		}
	}
	if len(p.reports) > 0 {
		p.left = r.now()
		r.ended = append(r.ended, p)
	}
}

// drop removes all that a process has; mu held.
func (r *Registry) drop(p *process) {
	for f := range p.reports {
		r.dropFamily(p, f)
	}
}

// dropFamily removes what a process has of a family; mu held.
func (r *Registry) dropFamily(p *process, f *family) {
	for _, s := range p.reports[f] {
		p.size -= s.size
		r.size -= s.size
	}
	delete(p.reports, f)
	if f.users--; f.users == 0 {
		delete(r.families, f.name)
	}
}

// expire drops what ended processes have left for long enough; mu held.
func (r *Registry) expire() {
	for now := r.now(); len(r.ended) > 0 && now.Sub(r.ended[0].left) >= keepEnded; r.ended = r.ended[1:] {
		r.drop(r.ended[0])
	}
}
