package store

import "golang.org/x/sys/cpu"

// moveFrom is the size from which on the processor's own copying is worth its start.
const moveFrom = 64 << 10

// move copies src to dst, which is as long. The built-in copy goes past the caches for
// more than 1 MiB, which is slow where they have room for it; the processor's string
// move finds out for itself, and is as fast beyond them.
func move(dst, src []byte) {
	if len(src) < moveFrom || !cpu.X86.HasERMS {
		copy(dst, src)
		return
	}
	repMove(&dst[0], &src[0], uintptr(len(src)))
}

// repMove is REP MOVSB.
//
//go:noescape
func repMove(dst, src *byte, n uintptr)
