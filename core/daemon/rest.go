package daemon

import (
	"time"

	"github.com/eagleray/eagleray/core/machine"
)

// The daemon lets go of its code when what only its beginning runs is over, and
// then less and less often. An idle one runs little of it.
const (
	soonestRest = 500 * time.Millisecond
	rarestRest  = time.Minute
)

// rest is run by restTimer.
func (d *Daemon) rest() {
	machine.RestCode()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return
	}
	d.resting = min(2*d.resting, rarestRest)
	d.restTimer.Reset(d.resting)
}
