package metrics

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Bounds of a report and of what it says.
const (
	maxReport     = 4 << 20 // bytes of a message
	maxName       = 200
	maxHelp       = 2000
	maxTags       = 32
	maxTagValue   = 1000
	maxBoundaries = 200
)

// Bounds of what is kept, in bytes as series.size counts them.
const (
	maxOfProcess = 8 << 20
	maxOfNode    = 64 << 20
	maxFamilies  = 5000
)

var (
	names = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	keys  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// check returns what is wrong with a metric, apart from its series.
func check(m *wire.Metric) error {
	switch {
	case len(m.Name) > maxName || !names.MatchString(m.Name):
		return fmt.Errorf("the name of a metric has at most %d letters, digits, _ and :, and does not begin with a digit", maxName)
	case len(m.Help) > maxHelp || !utf8.ValidString(m.Help):
		return fmt.Errorf("the description of metric %s has more than %d bytes, or is no UTF-8", m.Name, maxHelp)
	case len(m.TagKeys) > maxTags:
		return fmt.Errorf("metric %s has %d tags, at most %d are possible", m.Name, len(m.TagKeys), maxTags)
	case m.Kind != wire.MetricCounter && m.Kind != wire.MetricGauge && m.Kind != wire.MetricHistogram:
		return fmt.Errorf("metric %s is of an unknown kind", m.Name)
	case m.Kind != wire.MetricHistogram && len(m.Boundaries) > 0, m.Kind == wire.MetricHistogram && len(m.Boundaries) == 0, len(m.Boundaries) > maxBoundaries:
		return fmt.Errorf("metric %s has %d boundaries: a histogram has 1 to %d, and other metrics have none", m.Name, len(m.Boundaries), maxBoundaries)
	}
	for i, key := range m.TagKeys {
		if len(key) > maxName || !keys.MatchString(key) || key == "le" || slices.Contains(m.TagKeys[:i], key) {
			return fmt.Errorf("metric %s has a tag that cannot be a label of Prometheus: each has at most %d letters, digits and _, begins with no digit, is not \"le\" and is there once", m.Name, maxName)
		}
	}
	for i, b := range m.Boundaries {
		if math.IsNaN(b) || math.IsInf(b, 0) || i > 0 && b <= m.Boundaries[i-1] {
			return fmt.Errorf("the boundaries of metric %s are not ascending numbers", m.Name)
		}
	}
	return nil
}

// checkSeries returns what is wrong with a series of a metric.
func checkSeries(m *wire.Metric, s *wire.MetricSeries) error {
	if len(s.Tags) != len(m.TagKeys) {
		return fmt.Errorf("metric %s has %d tags, and a series of it has %d", m.Name, len(m.TagKeys), len(s.Tags))
	}
	for i, value := range s.Tags {
		if len(value) > maxTagValue || !utf8.ValidString(value) {
			return fmt.Errorf("the value of tag %s of metric %s has more than %d bytes, or is no UTF-8", m.TagKeys[i], m.Name, maxTagValue)
		}
	}
	counts := 0
	if m.Kind == wire.MetricHistogram {
		counts = len(m.Boundaries) + 1
	}
	if len(s.Counts) != counts {
		return fmt.Errorf("metric %s has %d buckets, and a series of it has %d", m.Name, counts, len(s.Counts))
	}
	if m.Kind == wire.MetricCounter && !(s.Value >= 0) {
		return fmt.Errorf("counter %s is below 0", m.Name)
	}
	return nil
}
