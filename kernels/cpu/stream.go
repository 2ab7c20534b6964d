package cpu

import (
	"time"

	"github.com/eagleray/eagleray/kernels/backend"
)

// stream orders nothing: work is done when its call returns.
type stream struct{}

func (device) NewStream() (backend.Stream, error) { return stream{}, nil }

func (stream) Synchronize() error       { return nil }
func (stream) Wait(backend.Event) error { return nil }
func (stream) Native() uintptr          { return 0 }
func (stream) Close() error             { return nil }

// event is the instant at which it was recorded.
type event time.Time

func (device) NewEvent(backend.Stream) (backend.Event, error) { return event(time.Now()), nil }

func (event) Synchronize() error  { return nil }
func (event) Done() (bool, error) { return true, nil }
func (event) Close() error        { return nil }

func (e event) Since(earlier backend.Event) (float64, error) {
	first, ok := earlier.(event)
	if !ok {
		return 0, &backend.UnsupportedError{Device: "cpu", What: "measuring time", Why: "the earlier event is of another device"}
	}
	return float64(time.Time(e).Sub(time.Time(first))) / float64(time.Millisecond), nil
}
