// Package complaints logs what a daemon refuses. A faulty process may send the same request for
// ever, or a different one each time, so equal complaints are logged once in a while, and the
// number of different ones is bounded. Bound does the same for the warnings and errors of a whole process: whoever
// reaches a port can cause them. A Log is its own lock, as is a handler of Bound; no goroutine is started.
package complaints
