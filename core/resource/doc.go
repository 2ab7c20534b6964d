// Package resource counts what tasks and actors ask for: amounts in units of
// 1/10000, sets of named amounts, and the ledger of one node that hands out
// amounts and device instances.
//
// Nothing here has a clock, a lock or a goroutine: the scheduler's loop owns a
// Ledger. Invariants, held by a property test against a naive model:
//
//   - free + allocated = total for every resource but CPU, whose allocations
//     count only while their task is not blocked;
//   - no device is given out beyond one whole;
//   - only CPU can be negative, only after UnblockCPU, and nothing that needs
//     CPU is given out then.
package resource
