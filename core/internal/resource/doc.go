// Package resource counts what tasks and actors ask for: amounts in units of
// 1/10000, sets of named amounts, and the ledger of one node that hands out
// amounts and device instances.
//
// Nothing here has a clock, a lock or a goroutine: the scheduler's loop owns a
// Ledger. Invariants, held by a property test against a naive model:
//
//   - free + allocated = total for every resource but CPU, whose allocations
//     count only while their task is not blocked;
//   - no device is given out beyond one whole, in parts and bytes together;
//   - only CPU can be negative, only after UnblockCPU, and nothing that needs
//     CPU is given out then.
//
// A GPU whose memory is known is given out in two units, parts (GPU: 0.5) and
// bytes (gpu_memory), from one ledger that is exact in both: b bytes of a
// device with m bytes are the part b/m of it, and a part f takes f×m bytes. A
// request of
//
//   - bytes alone gets one device, the fullest of those that have so many bytes
//     left;
//   - a part and bytes gets one device and takes the larger of the two;
//   - whole devices and bytes gets free devices that have so much memory each.
//
// A device whose memory is not known is never used for a request of bytes. What
// is free of GPU is the sum of the devices' free parts, each rounded down to
// 1/10000, and of gpu_memory the sum of their free bytes.
package resource
