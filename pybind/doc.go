// Package pybind is the only Go package that knows Python.
//
// It owns the two ways in which a Python process reaches the Go core:
//
//   - The control surface: the exported functions of this package. gopy binds
//     them into the extension module eagleray._core. They are coarse, take and
//     return strings, numbers and booleans only, and return within 100 ms
//     slices so that Ctrl-C is seen.
//   - The hot path: the files of pybind/hot, a small hand-written extension
//     module, eagleray._hot. The build copies them beside gopy's generated
//     files and compiles both into one shared object, so that one Go runtime
//     lives in the process.
//
// Invariants: gopy strings are UTF-8 without NUL, so binary data never crosses
// the control surface; no function keeps a Python buffer after it returned; a
// panic never crosses into C.
package pybind
