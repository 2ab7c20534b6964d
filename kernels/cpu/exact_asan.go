//go:build asan

package cpu

// exact makes every allocation its own, so that the sanitizer sees its ends.
const exact = true
