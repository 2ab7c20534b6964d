//go:build !planted

package planted

// Strikes reports whether the bug happens now: never.
func Strikes(Bug) bool { return false }
