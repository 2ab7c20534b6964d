// Package answered remembers the results of requests until their senders have them, so that a request that arrives a second time is
// not carried out a second time. Package raftstate replicates what is remembered: it is a part of the state and of its snapshots.
//
// A request has the name of its client and a number. It says below which number the client has all answers: what is remembered
// of those is dropped. A client that says nothing is bounded: Kept says how much is remembered of one client and of all. What is over a bound is forgotten in an
// order that follows from the requests alone. A request that may have been forgotten is told apart from a new one, and is Expired.
//
// The type R is what one request gave. The table keeps it and does not look into it.
//
// # Invariants
//
//   - equal requests in an equal order give equal tables and equal images;
//   - no request is Unknown again after its result was kept;
//   - the memory has a bound, and a client that acknowledges its answers takes as much after a day as after a minute.
//
// The package has no clock, no goroutine and no lock. The files: table.go has the clients and the bounds, results.go what is kept of one client, image.go
// the layout in a snapshot.
package answered
