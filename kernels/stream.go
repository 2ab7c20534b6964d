package kernels

import (
	"fmt"
	"sync/atomic"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Stream is an order of work on a device. Work on different streams may
// overlap; an [Event] orders it. Arrays are bound to one with [Array.On]. On
// the cpu device work is done at once and streams order nothing.
type Stream struct {
	dev    *Device
	back   backend.Stream
	closed atomic.Bool
}

// NewStream makes a stream. Once it is closed, work on its arrays goes to the
// device's default stream.
func (d *Device) NewStream() (*Stream, error) {
	s, err := d.back.NewStream()
	if err != nil {
		return nil, fmt.Errorf("new stream on %s: %w", d.name, err)
	}
	return &Stream{dev: d, back: s}, nil
}

// Device is the device that the stream belongs to.
func (s *Stream) Device() *Device { return s.dev }

func (s *Stream) check(op string) error {
	if s.closed.Load() {
		return fmt.Errorf("%s: stream of %s: %w", op, s.dev.name, ErrClosed)
	}
	return nil
}

// Synchronize waits for the work that was queued before.
func (s *Stream) Synchronize() error {
	if err := s.check("synchronize"); err != nil {
		return err
	}
	return s.back.Synchronize()
}

// Wait makes later work on the stream wait for the event.
func (s *Stream) Wait(e *Event) error {
	if err := s.check("wait"); err != nil {
		return err
	}
	if err := e.check("wait"); err != nil {
		return err
	}
	return s.back.Wait(e.back)
}

// Native is the driver's handle (CUstream), 0 on the cpu.
func (s *Stream) Native() uintptr { return s.back.Native() }

// Record marks the point that the stream's work has reached.
func (s *Stream) Record() (*Event, error) {
	if err := s.check("record"); err != nil {
		return nil, err
	}
	return s.dev.record(s.back)
}

// Close gives the stream up once its work is done. A second Close does nothing.
func (s *Stream) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.back.Close()
}

// Event is a point in a stream's work.
type Event struct {
	dev    *Device
	back   backend.Event
	closed atomic.Bool
}

// Record marks the point that the default stream's work has reached.
func (d *Device) Record() (*Event, error) { return d.record(nil) }

func (d *Device) record(s backend.Stream) (*Event, error) {
	e, err := d.back.NewEvent(s)
	if err != nil {
		return nil, fmt.Errorf("record on %s: %w", d.name, err)
	}
	return &Event{dev: d, back: e}, nil
}

func (e *Event) check(op string) error {
	if e.closed.Load() {
		return fmt.Errorf("%s: event of %s: %w", op, e.dev.name, ErrClosed)
	}
	return nil
}

// Synchronize waits for the work before the event.
func (e *Event) Synchronize() error {
	if err := e.check("synchronize"); err != nil {
		return err
	}
	return e.back.Synchronize()
}

// Done reports whether the work before the event is done.
func (e *Event) Done() (bool, error) {
	if err := e.check("done"); err != nil {
		return false, err
	}
	return e.back.Done()
}

// Since is the time from an earlier event of the same device to this one, in
// milliseconds. Both have to be done.
func (e *Event) Since(earlier *Event) (float64, error) {
	if err := e.check("since"); err != nil {
		return 0, err
	}
	if err := earlier.check("since"); err != nil {
		return 0, err
	}
	if e.dev != earlier.dev {
		return 0, &DeviceError{"since", fmt.Sprintf("an event of %s and one of %s", e.dev.name, earlier.dev.name)}
	}
	return e.back.Since(earlier.back)
}

// Close gives the event up. A second Close does nothing.
func (e *Event) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	return e.back.Close()
}

// begin holds the arrays of an operation and finds its stream. out is nil
// where the result is new. end must follow, unless begin fails.
func begin(op string, out *Array, in ...*Array) (backend.Stream, error) {
	if out != nil {
		if err := out.hold(op); err != nil {
			return nil, err
		}
	}
	for i, a := range in {
		if err := a.hold(op); err != nil {
			end(out, in[:i]...)
			return nil, err
		}
	}
	s, err := meet(op, out, in)
	if err != nil {
		end(out, in...)
	}
	return s, err
}

// end gives up what begin held.
func end(out *Array, in ...*Array) {
	if out != nil {
		out.done()
	}
	for _, a := range in {
		a.done()
	}
}

// meet finds the stream where the arrays of an operation meet.
func meet(op string, out *Array, in []*Array) (backend.Stream, error) {
	first, s := out, (*Stream)(nil)
	if out == nil {
		first = in[0]
	}
	s = first.queue()
	for _, a := range in {
		if a.dev != first.dev {
			return nil, &DeviceError{op, fmt.Sprintf("one array is on %s, another on %s; copy one with To", first.dev.name, a.dev.name)}
		}
		if s == nil {
			s = a.queue()
		}
	}
	if s == nil {
		return nil, nil
	}
	if err := s.check(op); err != nil {
		return nil, err
	}
	for _, a := range in {
		if from := a.queue(); from != s {
			if err := s.after(from); err != nil {
				return nil, fmt.Errorf("%s: %w", op, err)
			}
		}
	}
	if out != nil && out.queue() != s {
		if err := s.after(out.queue()); err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
	}
	return s.back, nil
}

// after makes s wait for what is queued on another stream, nil for the default.
func (s *Stream) after(other *Stream) error {
	var from backend.Stream
	if other != nil {
		if other.closed.Load() {
			return nil // Close waited for its work
		}
		from = other.back
	}
	e, err := s.dev.back.NewEvent(from)
	if err != nil {
		return err
	}
	if err := s.back.Wait(e); err != nil {
		_ = e.Close()
		return err
	}
	return e.Close()
}
