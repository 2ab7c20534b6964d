// Package metrics keeps what the programs of a node count and measure, and shows it with figures of the node itself in the text format of Prometheus.
//
// # Series
//
// Each process reports the values that have changed, and says with each how much it is since the process has begun. So a report that is lost costs nothing. Series of
// different processes are told apart by the label WorkerId and are never added up here: a query does that.
//
// When a process ends, its gauges leave at once. Its counters and histograms stay for ten minutes, so that what was counted last is still read.
//
// # Bounds
//
// Everything that a process says is checked (check.go). A metric with a name that is known keeps its kind and its boundaries. What is kept has bounds
// for each process and for the node, in bytes; beyond them the series of ended processes give way, the oldest first, and then new series are refused. The process is told
// so, and eagleray_metrics_refused_total counts it.
//
// # Goroutines and locks
//
// The package starts none. Registry.mu guards all tables, and nothing is called with it held. The files: registry.go has the tables, check.go the bounds of a
// report, show.go makes the families of Prometheus, node.go those of the node itself, handler.go is the HTTP handler.
package metrics
