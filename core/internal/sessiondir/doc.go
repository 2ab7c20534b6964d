// Package sessiondir has the folders of sessions: where they are, which daemon holds one, the log that a process of
// a session writes to, and how what a killed daemon has left is cleared up.
//
// The daemon of a session holds the lock of its folder while it lives (Lock). A folder whose lock nobody holds is that of
// a daemon that was killed: SweepStale ends the session's processes and removes what it has spilled and the folder itself.
package sessiondir
