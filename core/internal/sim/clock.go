package sim

import "time"

// Clock is a clock that began at another time than the world's, and is fast or slow by Drift millionths.
type Clock struct {
	Offset time.Duration
	Drift  int
}

// NewClock returns a clock that began up to an hour before the world's, and is wrong by up to one in a thousand.
func NewClock(d *Die) Clock {
	return Clock{Offset: d.Duration(time.Hour), Drift: d.Between(-1000, 1000)}
}

// At returns what the clock shows at a time of the world.
func (c Clock) At(world time.Duration) time.Duration {
	return c.Offset + world + world*time.Duration(c.Drift)/1e6
}

// Until returns after how much of the world's time the clock will show t at the earliest, at least a microsecond.
func (c Clock) Until(world, t time.Duration) time.Duration {
	left := t - c.At(world)
	return max(time.Microsecond, left+left/500)
}
