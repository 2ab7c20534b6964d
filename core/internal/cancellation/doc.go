// Package cancellation brings cancellations to the processes that run the tasks, or own them.
//
// A process that cannot be reached has most likely ended, and then its task has ended, too.
// But if the process lives, the cancellation must not be lost, because the callers that wait
// for the task would wait for ever. So an Outbox sends a cancellation again until it arrives,
// or until nobody needs it any more, and warns the user when this takes long.
//
// The caller that cancels a task waits until the task's process has received the cancellation
// (Cancellation.Await). When there are thousands of cancellations in a row, not each of them
// should cost a round trip: Burst decides which of them are waited for.
//
// The package has no lock and starts no goroutine: the session's mutex guards it, and
// everything but Await is called with it held. Await waits, and is called without it.
package cancellation
