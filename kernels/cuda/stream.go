//go:build cuda && cgo

package cuda

import (
	"errors"
	"sync"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

var errClosed = errors.New("the stream or event is closed")

// stream is one of the driver's. Like all streams here it waits for work on the
// default stream and the other way round, so mixing the two is safe.
type stream struct {
	device *Device
	mu     sync.RWMutex // closing waits for calls that use the stream
	s      cu.Stream
	closed bool
}

// NewStream makes a stream.
func (d *Device) NewStream() (backend.Stream, error) {
	s := &stream{device: d}
	err := d.do("cuStreamCreate", func() (err error) {
		s.s, err = cu.MakeStream(cu.DefaultStream)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// use runs f with the driver's stream of s, which may be nil.
func (d *Device) use(s backend.Stream, f func(cu.Stream) error) error {
	if s == nil {
		return f(cu.NoStream)
	}
	mine, ok := s.(*stream)
	if !ok || mine.device != d {
		return &backend.UnsupportedError{Device: d.name, What: "using the stream", Why: "it is another device's"}
	}
	mine.mu.RLock()
	defer mine.mu.RUnlock()
	if mine.closed {
		return errClosed
	}
	return f(mine.s)
}

func (s *stream) Synchronize() error {
	return s.device.use(s, func(c cu.Stream) error { return s.device.do("cuStreamSynchronize", c.Synchronize) })
}

func (s *stream) Native() uintptr {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return handle(s.s)
}

func (s *stream) Wait(e backend.Event) error {
	mine, ok := e.(*event)
	if !ok {
		return &backend.UnsupportedError{Device: s.device.name, What: "waiting for the event", Why: "it is another kind of device's"}
	}
	return mine.with(func(c cu.Event) error {
		return s.device.use(s, func(on cu.Stream) error {
			return s.device.do("cuStreamWaitEvent", func() error { return on.Wait(c, 0) })
		})
	})
}

// Close lets the work that is queued finish.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.device.do("cuStreamDestroy", s.s.Destroy)
}

type event struct {
	device *Device
	mu     sync.RWMutex
	e      cu.Event
	closed bool
}

// NewEvent makes an event and records it on s.
func (d *Device) NewEvent(s backend.Stream) (backend.Event, error) {
	e := &event{device: d}
	err := d.use(s, func(c cu.Stream) error {
		return d.do("cuEventRecord", func() (err error) {
			if e.e, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
				return err
			}
			if err = e.e.Record(c); err != nil {
				_ = cu.DestroyEvent(&e.e) // the first error tells more
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (e *event) with(f func(cu.Event) error) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return errClosed
	}
	return f(e.e)
}

func (e *event) Synchronize() error {
	return e.with(func(c cu.Event) error { return e.device.do("cuEventSynchronize", c.Synchronize) })
}

func (e *event) Done() (done bool, err error) {
	err = e.with(func(c cu.Event) error {
		return e.device.do("cuEventQuery", func() error {
			err := c.Query()
			if r, _ := asResult(err); r == resultNotReady {
				return nil
			}
			done = err == nil
			return err
		})
	})
	return done, err
}

func (e *event) Since(earlier backend.Event) (ms float64, err error) {
	first, ok := earlier.(*event)
	if !ok || first.device != e.device {
		return 0, &backend.UnsupportedError{Device: e.device.name, What: "the time between events", Why: "they are of different devices"}
	}
	err = first.with(func(from cu.Event) error {
		if first == e {
			return nil
		}
		return e.with(func(to cu.Event) error {
			return e.device.do("cuEventElapsedTime", func() (err error) {
				ms, err = from.Elapsed(to)
				return err
			})
		})
	})
	return ms, err
}

func (e *event) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	return e.device.do("cuEventDestroy", func() error { return cu.DestroyEvent(&e.e) })
}
