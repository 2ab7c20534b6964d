// Package envelope has values as they enter this process from its program, and the
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
//   - An exception (store.FormatError). The head of its metadata is plain text, so a
//     person can be told of it and none of the exception's code runs: ExceptionText.
//   - A fault of the core (store.FormatFault): FaultIn.
//   - A pointer (store.FormatElsewhere). An exception of more than 100 KiB lies in the
//     store, as any other large result does. What fails because of it, for instance the
//     tasks that take it as an argument, has no copy of its own: its value says where the
//     exception is, and keeps that object alive. PointTo and PointerIn.
//   - An exception in short (Brief), for those who cannot get the exception itself.
//
// The package is pure: it has no state, and whatever it is given may come from another
// process. Envelopes that are malformed give an error, nil or less text.
package envelope
