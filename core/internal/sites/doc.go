// Package sites knows what a census shows of references: where in the program they were
// made, by which function, and who holds them.
//
// A program may hold a million references, so each object carries two numbers in place
// of texts:
//
//   - its site: the number of a line of the program, which the program's side of the
//     session has assigned, or, for references that did not arrive at a line, the
//     number of a text in this package;
//   - its maker: the function or method whose call makes the object.
//
// Numbers whose highest bit is set are numbers of texts here. Each text has one number, and
// there are at most a few thousand texts. After that, further makers share one name, and
// further sites are shown as unknown. So a program that makes functions for ever does not
// fill the memory.
//
// A census shows the largest objects of a process, where they were made and who holds them
// (AddObjects).
//
// Texts also lets package refs hand objects over to another process, where the texts
// have other numbers (refs.Texts).
//
// The session owns one Texts. Its methods are called with the session's mutex held.
// They do not block, and a number keeps its text for as long as the session lasts.
package sites
