package wire

// The kinds of a Metric.
const (
	MetricCounter   = "counter"
	MetricGauge     = "gauge"
	MetricHistogram = "histogram"
)

// MetricsReport has the values that a process has changed since it reported last.
type MetricsReport struct {
	Metrics []Metric
}

// Metric is a metric of a program, as one process has it.
type Metric struct {
	Name       string // as the program calls it
	Kind       string
	Help       string
	TagKeys    []string
	Boundaries []float64 // of a histogram, ascending
	Series     []MetricSeries
}

// MetricSeries is what a metric has for some values of its tags. Counts are those since the process has begun.
type MetricSeries struct {
	Tags   []string // a value for each of TagKeys
	Value  float64  // of a histogram the sum of what was observed
	Counts []uint64 // of a histogram: how many fell into each bucket; the last one has no upper bound
}

// MetricsTaken answers MetricsReport.
type MetricsTaken struct {
	Off     bool   // this node serves no metrics, so the process need not report any
	Refused uint64 // how many series of the report were not taken
	Why     string // the first of them
}
