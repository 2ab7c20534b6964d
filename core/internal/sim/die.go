package sim

import (
	"math/rand/v2"
	"time"
)

// Die makes the random decisions of a seed.
type Die struct{ r *rand.Rand }

// NewDie returns the die of a seed.
func NewDie(seed uint64) *Die { return &Die{rand.New(rand.NewPCG(seed, 0x5eed))} }

// N returns a number from 0 to n-1.
func (d *Die) N(n int) int { return d.r.IntN(n) }

// Between returns a number from least to most, both included.
func (d *Die) Between(least, most int) int { return least + d.r.IntN(most-least+1) }

// OneIn returns true in one of n cases.
func (d *Die) OneIn(n int) bool { return d.r.IntN(n) == 0 }

// Uint64 returns any number but 0.
func (d *Die) Uint64() uint64 { return max(1, d.r.Uint64()) }

// Duration returns a duration that is shorter than most.
func (d *Die) Duration(most time.Duration) time.Duration {
	return time.Duration(d.r.Int64N(int64(most)))
}

// Pick returns one of the elements of a list that is not empty.
func Pick[T any](d *Die, list []T) T { return list[d.N(len(list))] }
