// Package binding gives pybind access to the core, whose packages lie below core/internal.
// Its API may change at any time; a Go program uses package core.
//
// It holds the one session that a Python process has, and turns the msgpack maps of
// docs/hot-api.md into the Go values that core/internal/client takes. Both the hot path
// (pybind/hot) and the functions that gopy binds (pybind) use it. names.go has the names of
// other packages that pybind needs.
package binding
