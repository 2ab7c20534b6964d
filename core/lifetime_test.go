package core_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/tests/await"
)

// filled returns an array of n elements of a value, which Python made.
func filled(t *testing.T, n int) func(value int) core.NDArray {
	ctx, s := join(t, opts)
	full := must[*core.Function](t)(s.Function("numpy:full", core.Call{}))
	return func(value int) core.NDArray {
		t.Helper()
		ref := must[*core.Ref[core.NDArray]](t)(core.Submit[core.NDArray](ctx, full, n, value))
		return must[core.NDArray](t)(core.Get(ctx, ref))
	}
}

// all reports whether all elements are the value.
func all(a core.NDArray, value int64) (yes bool) {
	yes = true
	err := core.Use(a, func(elements []int64) error {
		for _, x := range elements {
			yes = yes && x == value
		}
		return nil
	})
	return yes && err == nil
}

// Nothing but the arrays keeps their memory, while garbage is collected and others use the store.
func TestNDArray_RefsGoneUnderTraffic_KeepTheirMemory(t *testing.T) {
	array := filled(t, 200_000)
	var kept []core.NDArray
	for i := range 20 {
		kept = append(kept, array(i))
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ctx, s := join(t, opts)
			junk := must[core.NDArray](t)(core.NewNDArray(newOnes(200_000)))
			for range 100 {
				must[*core.Ref[core.NDArray]](t)(core.Put(ctx, s, junk))
				runtime.GC()
			}
		}()
	}
	wg.Wait()
	for i, a := range kept {
		if !all(a, int64(i)) {
			t.Errorf("array %d changed while it was held", i)
		}
	}
}

func newOnes(n int) []int64 {
	ones := make([]int64, n)
	for i := range ones {
		ones[i] = -1
	}
	return ones
}

// An array stays what it is when its session is closed and others use the store.
func TestNDArray_SessionClosed_KeepsItsMemory(t *testing.T) {
	ctx, s := join(t, opts)
	full := must[*core.Function](t)(s.Function("numpy:full", core.Call{}))
	large := must[core.NDArray](t)(core.Get(ctx, must[*core.Ref[core.NDArray]](t)(core.Submit[core.NDArray](ctx, full, 1_000_000, 7))))
	small := must[core.NDArray](t)(core.Get(ctx, must[*core.Ref[core.NDArray]](t)(core.Submit[core.NDArray](ctx, full, 10, 7))))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, s = join(t, opts)
	junk := must[core.NDArray](t)(core.NewNDArray(newOnes(1_000_000)))
	for range 60 {
		must[*core.Ref[core.NDArray]](t)(core.Put(ctx, s, junk))
	}
	if !all(large, 7) || !all(small, 7) {
		t.Error("an array changed after its session was closed")
	}
}

// Memory of the store goes back when the arrays have gone.
func TestNDArray_Dropped_GivesItsMemoryBack(t *testing.T) {
	array := filled(t, 1_000_000) // 8 MB each, in a store of 400 MB
	for i := range 120 {
		if !all(array(i), int64(i)) {
			t.Fatalf("array %d is another one", i)
		}
		runtime.GC()
	}
}

// What Get returns is the program's own: writing to it changes no object.
func TestGet_BytesAndSmallArrays_AreCopies(t *testing.T) {
	ctx, s := join(t, opts)
	for _, n := range []int{100, 5000, 1_000_000} {
		ref := must[*core.Ref[[]byte]](t)(core.Put(ctx, s, []byte(strings.Repeat("a", n))))
		b := must[[]byte](t)(core.Get(ctx, ref))
		for i := range b {
			b[i] = 'b'
		}
		if again := must[[]byte](t)(core.Get(ctx, ref)); strings.Contains(string(again), "b") {
			t.Errorf("%d bytes changed in the store", n)
		}
	}
	a := must[core.NDArray](t)(core.NewNDArray([]int64{1, 2}))
	ref := must[*core.Ref[core.NDArray]](t)(core.Put(ctx, s, a))
	first := must[core.NDArray](t)(core.Get(ctx, ref))
	_ = core.Use(first, func(e []int64) error { e[0] = 9; return nil })
	if v := must[[]int64](t)(core.Values[int64](must[core.NDArray](t)(core.Get(ctx, ref)))); v[0] != 1 {
		t.Error("a small array changed in the store")
	}
}

// A function that the program does not reach any more costs nothing.
func TestFunction_Dropped_IsReleased(t *testing.T) {
	ctx, s := join(t, opts)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	many := func(n int) {
		for range n {
			must[*core.Function](t)(s.Function("shop:same", core.Call{}))
		}
	}
	many(10_000)
	before := heap()
	many(100_000) // 87 MB when they were kept
	// Cleanups have a goroutine of their own, which is not done when a collection is.
	await.Within(t, await.Limit, "100,000 functions that nobody holds keep less than 10 MB", func() bool {
		return heap() <= before+10<<20
	})
	f := must[*core.Function](t)(s.Function("shop:same", core.Call{}))
	if got := must[int](t)(core.Get(ctx, must[*core.Ref[int]](t)(core.Submit[int](ctx, f, 5)))); got != 5 {
		t.Errorf("a function after them returns %d", got)
	}
}

// A call goes on when its function is let go of while it runs.
func TestFunction_DroppedDuringItsCall_Answers(t *testing.T) {
	ctx, s := join(t, opts)
	var refs []*core.Ref[int]
	for i := range 50 {
		f := must[*core.Function](t)(s.Function("shop:same", core.Call{}))
		refs = append(refs, must[*core.Ref[int]](t)(core.Submit[int](ctx, f, i)))
		if i%10 == 0 {
			runtime.GC()
		}
	}
	runtime.GC()
	for i, v := range must[[]int](t)(core.GetAll(ctx, refs)) {
		if v != i {
			t.Errorf("call %d returned %d", i, v)
		}
	}
}

func TestClose_TwiceAndFromMany_Quiet(t *testing.T) {
	ctx, s := join(t, opts)
	ref := must[*core.Ref[any]](t)(core.Submit[any](ctx, must[*core.Function](t)(s.Function("shop:sleep", core.Call{})), 30))
	waits := make(chan error, 1)
	go func() {
		_, err := core.Get(ctx, ref)
		waits <- err
	}()
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if err := <-waits; !errors.Is(err, core.ErrClosed) {
		t.Errorf("a get during Close: %v", err)
	}
	for name, err := range everyCall(ctx, s, ref) {
		if !errors.Is(err, core.ErrClosed) || core.CodeOf(err) != "closed" {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := s.Close(); err != nil || !errors.Is(s.Err(), core.ErrClosed) {
		t.Error(err, s.Err())
	}
}

// Lines that workers print arrive before Close has returned.
func TestClose_OutputOfWorkers_ArrivesFirst(t *testing.T) {
	o := opts
	var mu sync.Mutex
	var lines []string
	o.OnOutput = func(_ int, _, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	ctx, s := join(t, o)
	must[any](t)(call[any](t, ctx, s, "evaluate", "print('last words')"))
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lines) != 1 || lines[0] != "last words" {
		t.Errorf("lines %q", lines)
	}
}

// Put and Get need no Python; a call without one says what is missing.
func TestSession_NoPython_OnlyCallsNeedIt(t *testing.T) {
	o := opts
	o.Python = filepath.Join(t.TempDir(), "python3")
	t.Setenv("PATH", t.TempDir())
	ctx, s := join(t, o)
	if got := must[int](t)(core.Get(ctx, must[*core.Ref[int]](t)(core.Put(ctx, s, 5)))); got != 5 {
		t.Error(got)
	}
	if _, err := call[int](t, ctx, s, "same", 1); !errors.Is(err, core.ErrEnvironment) || !strings.Contains(err.Error(), "python3") {
		t.Errorf("a call without an interpreter: %v", err)
	}
	t.Setenv("EAGLERAY_PYTHON", "")
	o.Python = ""
	ctx, s = join(t, o) // the daemon has one
	if got, err := call[int](t, ctx, s, "same", 1); err != nil || got != 1 {
		t.Errorf("a call by the daemon's interpreter: %v, %v", got, err)
	}
}
