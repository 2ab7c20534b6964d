// Package wire is the protocol of control messages between Eagle Ray's processes. A
// message is a frame: a little-endian uint32 length, and then a msgpack array
//
//	[envelope version, kind, type, request id, deadline ms, body]
//
// A Peer speaks the protocol over a stream, in both directions: calls that are answered,
// and pushes that are not, in order. Each Peer has two goroutines, a reader that runs the
// handler and a writer; both end when the connection closes.
//
// The task sockets (package frame) carry the same frames without the envelope. The thread
// that waits writes and reads them, and their bodies are plain msgpack arrays.
//
// Everything that is read has a cap; the caps are the constants in frame.go.
package wire
