package client

import (
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// report tells what the worker runs: the newest of its calls; mu held.
func (e *executor) report() wire.Running {
	var newest *call
	r := wire.Running{Busy: len(e.calls)}
	for token, k := range e.calls {
		r.Once = r.Once || k.tmpl.Once
		if newest == nil || k.started.After(newest.started) {
			newest, r.Call = k, token
		}
	}
	if newest != nil {
		r.Name, r.AgeUs = newest.tmpl.Name, time.Since(newest.started).Microseconds()
	}
	return r
}
