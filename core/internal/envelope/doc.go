// Package envelope has the values that a program gives to this process, and the
// values that stand for failures.
//
// A value travels as an envelope, whose layout package store defines: a header with
// the format and the metadata, and buffers behind it. Value is what an envelope is
// made from. It points to memory of the program, so nothing here keeps one.
//
// # Failures
//
// Four kinds of envelopes say that a task has failed:
//
//   - An exception (store.FormatError). The head of its metadata is plain text. So
//     ExceptionText can describe the exception to a person without running any of
//     its code.
//   - A fault of the core (store.FormatFault): FaultIn.
//   - A pointer (store.FormatElsewhere). An exception of more than 100 KiB lies in the
//     store, as any other large result does. Results that fail because of it, for
//     instance those of tasks that take it as an argument, have no copy of their own:
//     their value says where the exception is, and keeps that object alive (PointTo,
//     PointerIn).
//   - The short form of an exception (Brief), for processes that cannot get the
//     exception itself.
//
// The package is pure: it has no state. Its input may come from another process: a
// malformed envelope gives an error, nil or less text.
package envelope
