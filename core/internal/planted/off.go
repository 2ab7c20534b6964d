//go:build !planted

package planted

// Late is how late something comes that a bug delays.
const Late = 0

// Strikes reports whether the bug happens now: never.
func Strikes(Bug) bool { return false }
