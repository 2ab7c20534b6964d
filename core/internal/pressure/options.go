package pressure

import (
	"fmt"
	"strconv"
	"time"
)

// Options say when memory is short.
type Options struct {
	Every     time.Duration // at least so often it is looked; 0: never
	Threshold float64       // the part of the room that may be used
	MinFree   int64         // bytes of room that suffice if they are less than the rest; -1: not stated
	Limit     uint64        // bytes that the session's processes, but for the driver, may have together; 0: no limit
	Root      string        // of the machine's files; "" for the real ones
}

// The defaults are Ray's.
const (
	defaultEvery     = 250 * time.Millisecond
	defaultThreshold = 0.95
)

// The variables. Each but Limit and Root is Ray's name with our prefix or Ray's.
const (
	everyVar     = "memory_monitor_refresh_ms"
	thresholdVar = "memory_usage_threshold"
	minFreeVar   = "min_memory_free_bytes"
	limitVar     = "memory_limit_bytes"
	rootVar      = "EAGLERAY_MEMORY_ROOT"
)

// FromEnv reads the options with os.LookupEnv or the like.
func FromEnv(lookup func(string) (string, bool)) (o Options, err error) {
	o = Options{Every: defaultEvery, Threshold: defaultThreshold, MinFree: -1}
	o.Root, _ = lookup(rootVar)
	for _, v := range []struct {
		name, wants string
		set         func(text string) bool
	}{
		{everyVar, "a number of milliseconds, 0 for no monitor", func(s string) bool {
			n, err := strconv.ParseUint(s, 10, 31)
			o.Every = time.Duration(n) * time.Millisecond
			return err == nil
		}},
		{thresholdVar, "a number from 0 to 1", func(s string) bool {
			f, err := strconv.ParseFloat(s, 64)
			o.Threshold = f
			return err == nil && f >= 0 && f <= 1
		}},
		{minFreeVar, "a number of bytes, -1 for none", func(s string) bool {
			n, err := strconv.ParseInt(s, 10, 64)
			o.MinFree = n
			return err == nil && n >= -1
		}},
		{limitVar, "a number of bytes, 0 for no limit", func(s string) bool {
			n, err := strconv.ParseUint(s, 10, 63)
			o.Limit = n
			return err == nil
		}},
	} {
		for _, prefix := range []string{"EAGLERAY_", "RAY_"} {
			text, ok := lookup(prefix + v.name)
			if !ok {
				continue
			}
			if !v.set(text) {
				return o, fmt.Errorf("%s%s=%q: it takes %s", prefix, v.name, text, v.wants)
			}
			break
		}
	}
	return o, nil
}
