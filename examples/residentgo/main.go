// Command residentgo keeps an array in a device's memory and doubles it a
// hundred times, and then does the same with a copy to the device and back at
// each call. It is resident_actor.py in Go, and runs on a CUDA device where
// there is one and on the processor elsewhere.
//
//	go run ./examples/residentgo
package main

import (
	"fmt"
	"log"
	"math"
	"time"

	"github.com/eagleray/eagleray/kernels"
)

const (
	elements = 4 << 20
	calls    = 100
)

// resident holds its data on the device from call to call.
type resident struct{ data *kernels.Array }

func newResident(d *kernels.Device, values []float32) (*resident, error) {
	a, err := kernels.FromSlice(d, values)
	return &resident{a}, err
}

func (r *resident) mulTwo() error              { return kernels.MulTwoInPlace(r.data) }
func (r *resident) values() ([]float32, error) { return kernels.ToSlice[float32](r.data) }
func (r *resident) close() error               { return r.data.Free() }

// copying doubles values on the device and brings them back.
func copying(d *kernels.Device, values []float32) ([]float32, error) {
	a, err := kernels.FromSlice(d, values)
	if err != nil {
		return nil, err
	}
	defer a.Free()
	if err := kernels.MulTwoInPlace(a); err != nil {
		return nil, err
	}
	return kernels.ToSlice[float32](a)
}

func main() {
	if err := run(kernels.Default()); err != nil {
		log.Fatal(err)
	}
}

func run(d *kernels.Device) error {
	values := make([]float32, elements)
	for i := range values {
		values[i] = 1
	}

	r, err := newResident(d, values)
	if err != nil {
		return err
	}
	defer r.close()
	start := time.Now()
	for range calls {
		if err := r.mulTwo(); err != nil {
			return err
		}
	}
	if err := d.Synchronize(); err != nil { // the calls only queued their work
		return err
	}
	stayed := time.Since(start)
	got, err := r.values()
	if err != nil {
		return err
	}

	start = time.Now()
	for range calls {
		if values, err = copying(d, values); err != nil {
			return err
		}
	}
	copied := time.Since(start)

	want := float32(math.Ldexp(1, calls))
	for i := range got {
		if got[i] != want || values[i] != want {
			return fmt.Errorf("element %d is %v and %v, not 2 to the power of %d", i, got[i], values[i], calls)
		}
	}
	fmt.Printf("%d calls of mul_two on %d MiB, %s: resident %.1f ms, copied at each call %.1f ms: %.1f times as long\n",
		calls, elements*4>>20, d.Name(), ms(stayed), ms(copied), ms(copied)/ms(stayed))
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
