package kernels

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// wrapped is an array of somebody else's memory that counts its releases.
func wrapped(t *testing.T, readOnly bool, values []float32) (*Array, *atomic.Int32) {
	t.Helper()
	var released atomic.Int32
	v := backend.View{Ptr: unsafe.Pointer(unsafe.SliceData(values)), DType: F32, Shape: []int{len(values)}, Strides: []int{4}}
	return must(Wrap(CPU(), v, 4*len(values), readOnly, func() { released.Add(1) }))(t), &released
}

func TestViews_LastFreed_MemoryGoes(t *testing.T) {
	values := []float32{1, 2, 3, 4, 5, 6}
	a, released := wrapped(t, false, values)
	m := must(a.Reshape(2, 3))(t)
	row := must(m.Slice(0, 1, 2, 1))(t)
	column := must(m.Transpose())(t)
	for _, v := range []*Array{a, m, column} {
		for range 2 { // the second does nothing
			if err := v.Free(); err != nil || released.Load() != 0 {
				t.Fatalf("free: %v, released %d times", err, released.Load())
			}
		}
	}
	if err := MulTwoInPlace(row); err != nil || !slices.Equal(values, []float32{1, 2, 3, 8, 10, 12}) {
		t.Fatalf("doubling a view gave %v, %v", values, err)
	}
	_ = row.Free()
	if released.Load() != 1 {
		t.Fatalf("released %d times, want once", released.Load())
	}
	if _, err := m.Share(); !errors.Is(err, ErrClosed) {
		t.Fatalf("a view of freed memory: %v, want ErrClosed", err)
	}
}

func TestWrap_ReadOnly_OperationsMakeNew(t *testing.T) {
	values := []float32{1, 2}
	a, _ := wrapped(t, true, values)
	if got := must(ToSlice[float32](must(MulTwo(a))(t)))(t); !slices.Equal(got, []float32{2, 4}) || values[0] != 1 {
		t.Fatalf("mul_two of a read-only array gave %v and left %v", got, values)
	}
	if v := must(a.Slice(0, 0, 1, 1))(t); !v.ReadOnly() {
		t.Error("a view of a read-only array is not read-only")
	}
	if c := must(a.Copy())(t); c.ReadOnly() {
		t.Error("a copy of a read-only array is read-only")
	}
}

func TestArray_Forgotten_CollectorFrees(t *testing.T) {
	released := func() *atomic.Int32 {
		a, released := wrapped(t, false, []float32{1})
		_ = must(a.Share())(t)
		return released
	}()
	for deadline := time.Now().Add(60 * time.Second); released.Load() == 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the memory of a forgotten array was not released")
		}
		runtime.GC()
	}
}

func TestFree_WhileUsed_OperationsEndOrSayClosed(t *testing.T) {
	for range 50 {
		a := must(New(CPU(), F32, 10_000))(t)
		b := must(a.Slice(0, End, Begin, -1))(t)
		var all sync.WaitGroup
		for _, x := range []*Array{a, b} {
			for range 2 {
				all.Go(func() {
					for {
						s, err := Sum(x)
						if errors.Is(err, ErrClosed) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						_ = s.Free()
					}
				})
			}
			all.Go(func() { _ = x.Free() })
			all.Go(func() { _ = x.Free() })
		}
		all.Wait()
	}
}

func TestElementwise_ManyGoroutines_OwnResults(t *testing.T) {
	shared := must(FromSlice(CPU(), []float64{1, 2, 3, 4}))(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 200 {
				r, err := Scale(shared, float64(i))
				if err != nil {
					t.Error(err)
					return
				}
				if x, err := ToSlice[float64](r); err != nil || x[3] != float64(4*i) {
					t.Errorf("scale by %d gave %v, %v", i, x, err)
				}
				_ = r.Free()
			}
		})
	}
	all.Wait()
}
