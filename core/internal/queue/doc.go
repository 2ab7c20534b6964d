// Package queue has the two containers that hold calls until they have an answer.
//
// FIFO has the calls that wait to be sent, in their order. When the program cancels a
// call, the call is taken out of the middle without a search: its owner keeps the place
// that Push or PushFront has returned. Calls that come back go to the front.
//
// Window has the calls of one connection that were sent, under the numbers that the
// connection gave them. Answers come mostly in order, so a ring of slots is enough; calls
// that are much older than the others move to a map, and the ring stays small.
//
// Both are plain values without a lock; their user's lock guards them. They know nothing of
// what they hold.
package queue
