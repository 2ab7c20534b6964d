//go:build planted

package planted

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Late is how late something comes that a bug delays.
const Late = 300 * time.Millisecond

var (
	chosen Bug
	every  uint64 = 20 // how often the bug could happen for each time that it does
	count  atomic.Uint64
)

func init() {
	name, n, found := strings.Cut(os.Getenv("EAGLERAY_PLANT"), "/")
	chosen = Bug(name)
	if !found {
		return
	}
	var err error
	if every, err = strconv.ParseUint(n, 10, 32); err != nil || every == 0 {
		panic("EAGLERAY_PLANT: the number after the bug's name is " + n)
	}
}

// Strikes reports whether the bug happens now: every so often, if it is the chosen one.
func Strikes(b Bug) bool { return b == chosen && count.Add(1)%every == 0 }
