// Package sites knows what a census shows of references: where in the program they were
// made, by which function, and who holds them.
//
// A program may hold a million references, so each object carries two numbers in place
// of texts:
//
//   - its site: a line of the program, which the program's own side has counted, or a
//     text that is numbered here, for references that came in at no line;
//   - its maker: the function or method whose call makes the object.
//
// Numbers whose highest bit is set are numbers of texts here. Each text has one number,
// and there are at most some thousands of them: later makers share one name, and later
// sites are not known. So a program that makes functions for ever does not fill the memory.
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
