// Package templates describes the functions and methods that a program calls. A description
// has what all calls of one function with one set of options share.
//
// # What it owns
//
// A Template is such a description, with its limits (Check), its alternatives (Fallback), the
// keys that say which templates share workers (ClassKey, ShapeKey), and the counts of its
// tasks. C is the type of a scheduling class. The package keeps a template's class for the
// class's owner, and never looks into it.
//
// A Table has the templates of a process under their numbers. A number is used again when
// its template is not needed any more: the program cannot call it (Retire), each of its
// tasks has an answer, and no lineage would run one of these tasks again. The table also has
// Endings, which a census shows for the tasks that have ended.
//
// Known lists the templates that the worker at the other end of a connection has.
//
// # Rules of the package
//
// It has no lock, no goroutine and no clock; the session's mutex guards it. It sends nothing:
// Append writes the frame of a template into a buffer that it is given.
package templates
