// Package complaints logs what a daemon refuses. A faulty process may send the same request for
// ever, or a different one each time, so equal complaints are logged once in a while, and the
// number of different ones is bounded. A Log is its own lock, and starts no goroutine.
package complaints
