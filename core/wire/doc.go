// Package wire is the one protocol between Eagle Ray's processes: frames of a
// little-endian uint32 length and a msgpack array
//
//	[version, kind, type, request id, deadline ms, body]
//
// A Peer speaks it over a stream in both directions: calls with replies,
// one-way pushes, in order. It owns two goroutines per connection, a reader
// that runs the handler and a writer, and closes both with the connection.
// The task sockets (package frame) carry the same frames without envelope, written
// and read by the thread that waits; their bodies are plain msgpack arrays.
//
// Everything read is capped: see the constants in frame.go.
package wire
