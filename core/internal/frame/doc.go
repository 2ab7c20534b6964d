// Package frame has the frames of the task sockets: what a caller writes to a
// worker that it has leased or to an actor, and what the worker or actor
// answers. The encoder and the decoder of each frame stand beside each other in
// this package.
//
// A frame is a little-endian uint32 length and a msgpack array. The first
// element of the array is the frame's kind, a wire.Op; the comment of each
// constant in core/internal/wire/data.go lists the elements.
//
// Encoders append to the buffer that they are given, which is the
// connection's own, and return it. A frame whose length only the caller knows
// is written in parts: a Begin function, one Append function for each part in
// the order of the array, and End.
//
// Each hands the complete frames of a buffer to a function, Open reads a
// frame's kind, and one Read function for each kind reads the rest. A frame
// comes from another process and is not trusted: a malformed or truncated frame
// gives wire.ErrBadFrame, a length above wire.MaxData gives
// wire.ErrFrameTooLarge, and no count makes a reader take more memory than the
// frame's own bytes pay for. Byte strings that are read are views of the frame.
//
// The package knows no tasks, objects or connections. It starts no goroutine,
// takes no lock, and keeps no state.
package frame
