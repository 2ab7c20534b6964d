// Package pybind is the only Go package that knows Python.
//
// It owns the two ways in which a Python process reaches the Go core:
//
//   - The control surface: the exported functions of this package, which gopy binds
//     into the extension module eagleray._core. Each of them does a large piece of
//     work in one call. They take and return strings, numbers and booleans only, and
//     wait for at most 100 ms, so that Python notices Ctrl-C.
//   - The hot path: the files of pybind/hot, an extension module that is written by
//     hand, eagleray._hot. The build copies them beside gopy's generated files and
//     compiles both into one shared object, so that one Go runtime lives in the process.
//
// The shared object also has eagleray._kern (pybind/kern: arrays and kernels) and
// eagleray._late (pybind/hot/late.c), which decides when Go starts: after delay_start,
// importing the other modules does not start Go, and start does. setup.py lets gopy
// generate the control surface, adds pybind/hot and pybind/kern, and links with a version
// script that exports only the modules' init functions. Package core/binding holds the
// one session of the process.
//
// A failure reaches Python as a code of core/fault and a message, from which
// _private/faults.py makes the exception. No Go code calls Python, with one exception: the
// handlers of signals run while the main thread waits for room in the store. In a child
// that user code forks, the core's descriptors are closed, views stay readable, and every
// call raises an error. A destructor only pushes a number to a small locked list, which the
// core takes at its next call or within a millisecond (pybind/hot/drops.c).
//
// Invariants:
//
//   - binary data never crosses the control surface, because gopy's strings are UTF-8
//     without NUL;
//   - no function keeps a Python buffer after it has returned;
//   - a panic never crosses into C.
package pybind
