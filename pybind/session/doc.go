// Package session holds the one session that a Python process has. It turns the msgpack
// maps of docs/hot-api.md into the Go values that core/client takes. Both the hot path
// (pybind/hot) and the functions that gopy binds (pybind) use it.
package session
