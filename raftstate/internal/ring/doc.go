// Package ring keeps the latest events of the replicated state. A watch is a long poll from a cursor, so there is no watcher to close, and a
// slow one holds nothing up. There are no goroutines; the ring has one lock, which may be taken under any other.
package ring
