//go:build !planted

package histories

// How many histories are played when nobody says how many, and whether the first that fails is the last.
const (
	usualSeeds = 24
	usualStop  = false
)
