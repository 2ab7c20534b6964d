package metrics

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Path is where the metrics are.
const Path = "/metrics"

// maxScrapes is how many answers are made at the same time.
const maxScrapes = 4

// Handler serves the metrics of a node. All other paths are not found.
func (r *Registry) Handler(node Node, session Session, log *slog.Logger) http.Handler {
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*askWait)
		defer cancel()
		list, refused := r.familiesOf(&session)
		list = append(list, nodeFamilies(ctx, node, &session, refused)...)
		slices.SortFunc(list, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
		return list, nil
	})
	mux := http.NewServeMux()
	serve := promhttp.HandlerFor(gather, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, ErrorLog: &complain{log: log}, ErrorHandling: promhttp.HTTPErrorOnError})
	mux.Handle("GET "+Path, serve)
	return mux
}

// complain logs what went wrong in making an answer, at most once a minute.
type complain struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
}

// Println implements promhttp.Logger.
func (c *complain) Println(v ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.last) >= time.Minute {
		c.last = now
		c.log.Warn("metrics could not be shown", "why", v)
	}
}
