// Package retry decides whether a task runs again after something went wrong.
//
// A Setback is what went wrong: its worker died, it raised an exception, the store lost
// its result, and so on. A Budget is what the user allows the task, and what it has used.
// Budget.Decide takes both and returns a Verdict: the task runs again, at once or after a
// delay, or it ends, with the reason (Refusal). The verdict also has the counts that the
// task has used up by then. No retry is counted anywhere else.
//
// # Which budget pays
//
// Crashes of workers, answers that were lost and exceptions share max_retries (for calls of
// actors: max_task_retries). Retries because the machine ran out of memory have a bound of
// their own, task_oom_retries, but a task with max_retries=0 has none of them. A task whose
// argument is lost may look for it MaxMisses times. A run that had not begun costs nothing.
// A run for a lost result begins with new counts; only the count of tries continues.
//
// # Rules of the package
//
// The functions are pure, apart from Verdict.Wait, which varies a delay at random. The
// package has no lock, starts no goroutine and reads no clock. Package submit carries the
// verdicts out.
package retry
