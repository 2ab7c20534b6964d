package metrics

import (
	"cmp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Session says which node the series are of.
type Session struct {
	Address string // of the node
	Name    string // of the session's folder
	Version string // of the program
}

// prefix begins all names, as in Ray.
const prefix = "ray_"

// shownName is what a metric is called in Prometheus.
func shownName(m *wire.Metric) string {
	name := prefix + strings.ReplaceAll(m.Name, ":", "_")
	if m.Kind == wire.MetricCounter && !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	return name
}

// labels are those of a series, sorted by their names. Those that come later take the place of earlier ones with the same name.
func (s *Session) labels(component, worker string, names, values []string) []*dto.LabelPair {
	all := map[string]string{"Component": component, "NodeAddress": s.Address, "SessionName": s.Name, "Version": s.Version, "WorkerId": worker}
	for i, name := range names {
		all[name] = values[i]
	}
	list := make([]*dto.LabelPair, 0, len(all))
	for name, value := range all {
		list = append(list, &dto.LabelPair{Name: proto.String(name), Value: proto.String(value)})
	}
	slices.SortFunc(list, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return list
}

// familiesOf returns what the processes have reported.
func (r *Registry) familiesOf(session *Session) (list []*dto.MetricFamily, refused uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
	shown := map[*family]*dto.MetricFamily{}
	show := func(p *process) {
		for f, rows := range p.reports {
			out := shown[f]
			if out == nil {
				out = &dto.MetricFamily{Name: proto.String(f.name), Help: proto.String(f.help), Type: typeOf(f.kind).Enum()}
				shown[f] = out
				list = append(list, out)
			}
			for _, s := range rows {
				out.Metric = append(out.Metric, f.show(s, session.labels("core_worker", p.worker, s.names, s.tags)))
			}
		}
	}
	for _, p := range r.ended {
		show(p)
	}
	for _, p := range r.processes {
		show(p)
	}
	return list, r.refused
}

func typeOf(kind string) dto.MetricType {
	switch kind {
	case wire.MetricCounter:
		return dto.MetricType_COUNTER
	case wire.MetricHistogram:
		return dto.MetricType_HISTOGRAM
	}
	return dto.MetricType_GAUGE
}

func (f *family) show(s *series, labels []*dto.LabelPair) *dto.Metric {
	out := &dto.Metric{Label: labels}
	switch f.kind {
	case wire.MetricCounter:
		out.Counter = &dto.Counter{Value: proto.Float64(s.value)}
	case wire.MetricHistogram:
		h := &dto.Histogram{SampleSum: proto.Float64(s.value)}
		total := uint64(0)
		for i, n := range s.counts {
			total += n
			if i < len(f.boundaries) {
				h.Bucket = append(h.Bucket, &dto.Bucket{CumulativeCount: proto.Uint64(total), UpperBound: proto.Float64(f.boundaries[i])})
			}
		}
		h.SampleCount = proto.Uint64(total)
		out.Histogram = h
	default:
		out.Gauge = &dto.Gauge{Value: proto.Float64(s.value)}
	}
	return out
}
