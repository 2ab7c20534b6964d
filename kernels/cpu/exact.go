//go:build !asan

package cpu

const exact = false
