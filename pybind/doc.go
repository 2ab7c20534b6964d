// Package pybind is the only Go package that knows Python.
//
// It owns the two ways in which a Python process reaches the Go core:
//
//   - The control surface: the exported functions of this package, which gopy binds
//     into the extension module eagleray._core. Each does much in one call. They take
//     and return strings, numbers and booleans only, and wait for at most 100 ms, so
//     that Python notices Ctrl-C.
//   - The hot path: the files of pybind/hot, an extension module that is written by
//     hand, eagleray._hot. The build copies them beside gopy's generated files and
//     compiles both into one shared object, so that one Go runtime lives in the process.
//
// Invariants:
//
//   - binary data never crosses the control surface, because gopy's strings are UTF-8
//     without NUL;
//   - no function keeps a Python buffer after it has returned;
//   - a panic never crosses into C.
package pybind
