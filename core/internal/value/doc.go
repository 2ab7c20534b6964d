// Package value turns Go values into bytes that Python reads, and results from
// Python into Go values of the type that the program asks for.
//
// A value that is just an array or bytes travels as its memory. Other values travel as
// msgpack if msgpack can hold them, and else as a pickle. This package writes such pickles,
// and reads them as far as their content has a Go form: arrays, references, tuples, numpy's
// scalars, complex numbers, dates and integers beyond 64 bits. No code that a pickle
// names is run: a short list of constructors is understood, and anything else is an
// error that wraps store.ErrNotPlain.
//
// Nothing is converted with a loss: a number that does not fit, None where nothing
// can be nil, or a value that has no form on the other side is an error that names
// the place in the value, such as ".points[3].x".
//
// There are no goroutines, and the only state is a cache of the fields of struct
// types.
package value
