package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime returns how long ago this machine was started, also while it was suspended. Nobody can set this clock.
func BootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("CLOCK_BOOTTIME: " + err.Error()) // Linux has had it since 2.6.39
	}
	return time.Duration(t.Nano())
}
