package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// playedNode is a node with figures of its own.
type playedNode struct{ here wire.NodeCensus }

func (n *playedNode) Use() wire.NodeUse {
	return wire.NodeUse{
		Resources: map[string]int64{"CPU": 4 * int64(resource.Unit)}, Available: map[string]int64{"CPU": int64(resource.Unit) / 2},
		Workers: 3, Actors: 2, Jobs: 1, Pending: map[string]int{"f": 2, "g": 5}, Store: wire.StoreSums{Capacity: 100, Used: 30, Objects: 7},
	}
}

func (n *playedNode) Here(context.Context, *wire.CensusAsk, time.Duration) *wire.NodeCensus {
	return &n.here
}

// world is a registry with a clock that is set by hand.
type world struct {
	*Registry
	node playedNode
	at   time.Time
}

func newWorld() *world {
	w := &world{Registry: New(), at: time.Unix(1000, 0)}
	w.now = func() time.Time { return w.at }
	return w
}

// text returns what Prometheus reads.
func (w *world) text(t *testing.T) string {
	t.Helper()
	h := w.Handler(&w.node, Session{Address: "10.0.0.1", Name: "s", Version: "1"}, slog.New(slog.DiscardHandler))
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", Path, nil))
	if answer.Code != 200 || !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%d, %s: %s", answer.Code, answer.Header(), answer.Body)
	}
	return answer.Body.String()
}

// one is a metric with one series.
func one(kind, name string, value float64, tags ...string) wire.Metric {
	m := wire.Metric{Name: name, Kind: kind, Help: "what it says"}
	s := wire.MetricSeries{Value: value}
	for i := 0; i < len(tags); i += 2 {
		m.TagKeys, s.Tags = append(m.TagKeys, tags[i]), append(s.Tags, tags[i+1])
	}
	m.Series = []wire.MetricSeries{s}
	return m
}

func (w *world) takes(t *testing.T, id uint64, metrics ...wire.Metric) {
	t.Helper()
	if got := w.take(id, fmt.Sprintf("worker%d", id), &wire.MetricsReport{Metrics: metrics}); got.Refused != 0 {
		t.Fatalf("%+v", got)
	}
}

func (w *world) refuses(t *testing.T, id uint64, m wire.Metric, why string) {
	t.Helper()
	got := w.take(id, "", &wire.MetricsReport{Metrics: []wire.Metric{m}})
	if got.Refused == 0 || !strings.Contains(got.Why, why) {
		t.Errorf("%+v, want %q", got, why)
	}
}

const labelsOf = `{Component="core_worker",NodeAddress="10.0.0.1",SessionName="s",Version="1",WorkerId="worker%d"%s} %s`

func TestHandler_EachKind_AsPrometheusReadsIt(t *testing.T) {
	w := newWorld()
	h := wire.Metric{Name: "lat", Kind: wire.MetricHistogram, Boundaries: []float64{1, 10}, Series: []wire.MetricSeries{{Value: 105.5, Counts: []uint64{1, 2, 4}}}}
	w.takes(t, 1, one(wire.MetricCounter, "asked", 3, "way", "in"), one(wire.MetricGauge, "level", -2), h)
	w.takes(t, 2, one(wire.MetricCounter, "asked", 4, "way", `a "b"`), one(wire.MetricCounter, "asked", 6, "other", "x"))
	w.takes(t, 1, one(wire.MetricCounter, "asked", 5, "way", "in"))
	text := w.text(t)
	for _, line := range []string{
		"# TYPE ray_asked_total counter", "# HELP ray_asked_total what it says", "# TYPE ray_level gauge", "# TYPE ray_lat histogram",
		fmt.Sprintf("ray_asked_total"+labelsOf, 1, `,way="in"`, "5"), fmt.Sprintf("ray_asked_total"+labelsOf, 2, `,way="a \"b\""`, "4"),
		fmt.Sprintf(`ray_asked_total{Component="core_worker",NodeAddress="10.0.0.1",SessionName="s",Version="1",WorkerId="worker%d",other="x"} 6`, 2),
		fmt.Sprintf("ray_level"+labelsOf, 1, "", "-2"), fmt.Sprintf("ray_lat_bucket"+labelsOf, 1, `,le="1"`, "1"), fmt.Sprintf("ray_lat_bucket"+labelsOf, 1, `,le="10"`, "3"),
		fmt.Sprintf("ray_lat_bucket"+labelsOf, 1, `,le="+Inf"`, "7"), fmt.Sprintf("ray_lat_count"+labelsOf, 1, "", "7"), fmt.Sprintf("ray_lat_sum"+labelsOf, 1, "", "105.5"),
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}

func TestHandler_FiguresOfTheNode(t *testing.T) {
	w := newWorld()
	w.node.here.Processes = []wire.ProcessCensus{
		{Tasks: []wire.TaskRow{{TaskID: []byte{1}, Name: "f", State: "SUBMITTED_TO_WORKER"}, {TaskID: []byte{2}, Name: "f", State: "PENDING_NODE_ASSIGNMENT"}}, Open: 5,
			ByMaker: []wire.Ends{{Name: "f", Finished: 8, Failed: 1}}},
		{Ran: []wire.TaskRow{{TaskID: []byte{1}, Name: "f", State: wire.TaskRunning}, {TaskID: []byte{9}, Name: "f", State: "FINISHED"}}},
	}
	text := w.text(t)
	const of = `NodeAddress="10.0.0.1",SessionName="s",`
	for _, line := range []string{
		`ray_resources{Component="raylet",Name="CPU",` + of + `State="USED",Version="1",WorkerId=""} 3.5`,
		`ray_resources{Component="raylet",Name="CPU",` + of + `State="AVAILABLE",Version="1",WorkerId=""} 0.5`,
		`ray_object_store_used_memory{Component="raylet",` + of + `Version="1",WorkerId=""} 30`,
		`ray_object_store_available_memory{Component="raylet",` + of + `Version="1",WorkerId=""} 70`,
		`eagleray_pending_leases{Component="raylet",` + of + `Version="1",WorkerId=""} 7`,
		`ray_tasks{Component="raylet",Name="f",` + of + `State="RUNNING",Version="1",WorkerId=""} 1`,
		`ray_tasks{Component="raylet",Name="f",` + of + `State="PENDING_NODE_ASSIGNMENT",Version="1",WorkerId=""} 1`,
		`ray_tasks{Component="raylet",Name="",` + of + `State="PENDING_NODE_ASSIGNMENT",Version="1",WorkerId=""} 3`,
		`ray_tasks{Component="raylet",Name="f",` + of + `State="FINISHED",Version="1",WorkerId=""} 8`,
		`ray_tasks{Component="raylet",Name="f",` + of + `State="FAILED",Version="1",WorkerId=""} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	if strings.Contains(text, "SUBMITTED_TO_WORKER") {
		t.Error("a task that runs here is counted twice")
	}
}

func TestGone_GaugesLeaveAndCountersStayForAWhile(t *testing.T) {
	w := newWorld()
	w.takes(t, 1, one(wire.MetricCounter, "asked", 3), one(wire.MetricGauge, "level", 1))
	w.takes(t, 2, one(wire.MetricGauge, "level", 2))
	w.Gone(1)
	if text := w.text(t); !strings.Contains(text, fmt.Sprintf("ray_asked_total"+labelsOf, 1, "", "3")) || strings.Contains(text, fmt.Sprintf("ray_level"+labelsOf, 1, "", "1")) || !strings.Contains(text, fmt.Sprintf("ray_level"+labelsOf, 2, "", "2")) {
		t.Errorf("when the process has left:\n%s", text)
	}
	w.at = w.at.Add(keepEnded)
	if text := w.text(t); strings.Contains(text, "ray_asked_total") {
		t.Errorf("ten minutes later:\n%s", text)
	}
	w.Gone(2)
	w.Gone(3) // it has reported nothing
	if len(w.families) != 0 || w.size != 0 || len(w.processes) != 0 || len(w.ended) != 0 {
		t.Errorf("%d families, %d bytes, %d processes and %d that have ended are left", len(w.families), w.size, len(w.processes), len(w.ended))
	}
}

func TestTake_NonsenseIsRefusedWithTheReason(t *testing.T) {
	w := newWorld()
	w.takes(t, 1, one(wire.MetricCounter, "asked", 1, "a", "x"))
	bad := func(change func(m *wire.Metric)) wire.Metric {
		m := one(wire.MetricCounter, "asked", 1, "a", "x")
		change(&m)
		return m
	}
	histogram := func(counts []uint64, boundaries ...float64) wire.Metric {
		return wire.Metric{Name: "h", Kind: wire.MetricHistogram, Boundaries: boundaries, Series: []wire.MetricSeries{{Counts: counts}}}
	}
	for why, m := range map[string]wire.Metric{
		"the name of a metric":             bad(func(m *wire.Metric) { m.Name = "1 x" }),
		"unknown kind":                     bad(func(m *wire.Metric) { m.Kind = "sum" }),
		"cannot be a gauge":                bad(func(m *wire.Metric) { m.Name, m.Kind = "asked_total", wire.MetricGauge }),
		"cannot be a label":                bad(func(m *wire.Metric) { m.Name, m.TagKeys = "other", []string{"a b"} }),
		"has 1 tags, and a series of it":   bad(func(m *wire.Metric) { m.Series[0].Tags = nil }),
		"the value of tag a":               bad(func(m *wire.Metric) { m.Series[0].Tags = []string{strings.Repeat("x", maxTagValue+1)} }),
		"or is no UTF-8":                   bad(func(m *wire.Metric) { m.Series[0].Tags = []string{"\xff"} }),
		"is below 0":                       bad(func(m *wire.Metric) { m.Series[0].Value = -1 }),
		"a series of it has 1":             bad(func(m *wire.Metric) { m.Series[0].Counts = []uint64{1} }),
		"33 tags":                          bad(func(m *wire.Metric) { m.TagKeys = make([]string, 33) }),
		"the description of metric asked":  bad(func(m *wire.Metric) { m.Help = strings.Repeat("x", maxHelp+1) }),
		"name of a figure of the node":     one(wire.MetricGauge, "resources", 1),
		"not ascending":                    histogram([]uint64{1, 1, 1}, 2, 2),
		"has 2 buckets, and a series of i": histogram([]uint64{1}, 2),
		"has 0 boundaries":                 histogram([]uint64{1}),
	} {
		w.refuses(t, 2, m, why)
	}
	if len(w.families) != 1 {
		t.Errorf("%d families are left", len(w.families))
	}
	if text := w.text(t); !strings.Contains(text, `eagleray_metrics_refused_total{Component="raylet",NodeAddress="10.0.0.1",SessionName="s",Version="1",WorkerId=""} 15`) {
		t.Errorf("what was refused is not counted:\n%s", text)
	}
}

func TestTake_TooMuch_IsRefusedAndWhatIsThereGoesOn(t *testing.T) {
	w := newWorld()
	rows := func(id uint64) (taken int) {
		for range 100 {
			m := wire.Metric{Name: "many", Kind: wire.MetricCounter, TagKeys: []string{"k"}}
			for i := range 1000 {
				m.Series = append(m.Series, wire.MetricSeries{Tags: []string{fmt.Sprintf("%d %d %s", taken, i, strings.Repeat("x", 900))}, Value: 1})
			}
			got := w.take(id, "", &wire.MetricsReport{Metrics: []wire.Metric{m}})
			if taken += 1000 - int(got.Refused); got.Refused > 0 {
				return taken
			}
		}
		return taken
	}
	const each = maxOfProcess / 2250
	if n := rows(1); n < each-500 || n > each+500 {
		t.Fatalf("a process has %d series, want about %d", n, each)
	}
	for id := uint64(2); id <= maxOfNode/maxOfProcess+1; id++ {
		rows(id) // the last one gets what the others have left
	}
	w.refuses(t, 100, one(wire.MetricGauge, "late", 1, "k", strings.Repeat("x", 990)), "the processes of this node")
	w.Gone(1) // what has ended gives way
	w.takes(t, 100, one(wire.MetricGauge, "late", 1, "k", strings.Repeat("x", 990)))
	w.takes(t, 3, one(wire.MetricCounter, "many", 7, "k", fmt.Sprintf("0 0 %s", strings.Repeat("x", 900)))) // no new series
	if w.size > maxOfNode {
		t.Errorf("%d bytes are kept", w.size)
	}
}

func FuzzTake(f *testing.F) {
	f.Add("a", "counter", "k", "v", 1.0, uint64(3))
	f.Fuzz(func(t *testing.T, name, kind, key, value string, number float64, count uint64) {
		w := newWorld()
		for _, m := range []wire.Metric{one(kind, name, number, key, value), {Name: name, Kind: wire.MetricHistogram, Boundaries: []float64{number}, Series: []wire.MetricSeries{{Value: number, Counts: []uint64{count, count}}}}} {
			w.take(1, value, &wire.MetricsReport{Metrics: []wire.Metric{m}})
		}
		w.text(t)
	})
}
