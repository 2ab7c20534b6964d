// Package keyleases counts the time of leases of keys (core.KV), for the head that leads. It is a pure machine: the caller hands in the
// time, and has the ends committed that Due returns.
//
// # Why a holder knows first
//
// A holder tells the head that it is there, and the head confirms that. With a confirmation the holder counts on the lease until
// Trust(ttl), four fifths of its time, after it has *sent* its word, by its own clock. The head ends the lease when the whole time has passed
// after it has *heard* the last word, by its own clock. It heard the word after it was sent. So the holder's time ends first, by a fifth of the time, while the
// two clocks drift by less than a quarter against each other. The holder uses the fifth to stop.
//
// A holder's clock is CLOCK_BOOTTIME, which nobody can set and which goes on while the machine is suspended. A head's clock may stand still: then
// leases last longer, which is safe.
//
// # Why no head ends what another one has confirmed
//
// Each leadership commits its beginning (a reign) before it counts, and then every lease gets its whole time again. The state
// refuses the end of a lease that an earlier reign asks for. A head confirms a word only when a commit that was proposed after the word came shows
// that its reign is still the last one. So a later reign begins after the word was sent, and ends no lease before the whole
// time has passed from then on. That holds whatever raft says about who leads.
//
// # Pauses of the head
//
// A head that was stopped has heard nobody, which says nothing about the holders. So a time between two calls of Advance counts as
// longestGap at most. The caller calls Advance at Next at the latest.
//
// There are no goroutines, locks, clocks or random numbers. The files: clock.go has the machine.
package keyleases
