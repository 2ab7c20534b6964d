// Package classes keeps the large classes of detached actors. When an actor outlives its program, its class must outlive the
// program, too. A small class is in the actor's record. A large class is an object in the program's object store, so the cluster's state
// keeps a copy of that object. The copy arrives in parts before the actor is registered. All
// actors that name the same object share the copy. It goes when no actor that needs it can start
// any more.
//
// A part is bytes, or the name of a large value. The table adds the large values of its parts to the counts that it is given, and removes them with the copy.
//
// # Invariants
//
//   - equal calls give equal tables and equal images, whatever the order of a map is;
//   - a copy has a user: an actor that is registered, or one that is about to be;
//   - copies and lists never change after they were made: a change makes new ones, so that a clone shares them.
//
// The package has no clock, no goroutine and no lock. The files: table.go has the copies and who needs them, image.go the layout in a
// snapshot.
package classes
