//go:build planted

package raftstate

// Plant reports whether a planted bug happens now.
var Plant = func(string) bool { return false }

func strikes(bug string) bool { return Plant(bug) }
