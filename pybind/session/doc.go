// Package session holds the one session that a Python process has, and turns
// the msgpack maps of docs/hot-api.md into what core/client takes. It is
// shared by the hot path and by the functions that gopy binds.
package session
