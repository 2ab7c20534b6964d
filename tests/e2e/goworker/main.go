// Goworker is the Go program that test_go_workers.py and the tests beside it call.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/worker"
)

type order struct {
	ID    int      `msgpack:"id"`
	Items []string `msgpack:"items"`
	Note  *string  `msgpack:"note"`
}

func main() {
	values()
	failures()
	streams()
	nested()
	worker.Actor("Counter", NewCounter)
	worker.Actor("Broken", func(how string) (*Counter, error) {
		if how == "panic" {
			panic("no actor today")
		}
		return nil, errors.New("it cannot be made")
	})
	worker.Main()
}

func values() {
	worker.Function("sum", func(_ context.Context, a, b int) (int, error) { return a + b, nil })
	worker.Function("join", func(sep string, parts ...string) string { return strings.Join(parts, sep) })
	worker.Function("nothing", func() {})
	worker.Function("same", func(v any) any { return v })
	worker.Function("kind", func(v any) string { return fmt.Sprintf("%T", v) })
	worker.Function1("double", func(_ context.Context, o order) (order, error) {
		return order{2 * o.ID, append(o.Items, o.Items...), o.Note}, nil
	})
	worker.Function("halves", func(n int) []int { return []int{n / 2, n - n/2} })
	worker.Function("total", func(a core.NDArray) (float64, error) {
		sum := 0.0
		err := core.Use(a, func(v []float64) error {
			for _, x := range v {
				sum += x
			}
			return nil
		})
		return sum, err
	})
	worker.Function("zeros", func(n int) (core.NDArray, error) { return core.NewNDArray(make([]float64, n), n) })
	worker.Function("blob", func(n int) []byte { return make([]byte, n) })
	worker.Function("channel", func() any { return make(chan int) })
	worker.Function("pid", os.Getpid)
	worker.Function("variable", os.Getenv)
	worker.Function("folder", os.Getwd)
	worker.Function("program", os.Executable)
	worker.Function("gpus", func(ctx context.Context) ([]string, error) { return worker.GPUs(ctx), nil })
	worker.Function("resources", func(ctx context.Context) map[string]float64 { return worker.Resources(ctx) })
	worker.Function("info", func(ctx context.Context) worker.Info { return worker.Call(ctx) })
	worker.Function("say", func(text string) { fmt.Println(text) })
}

// once reports whether a file is not there yet, and makes it.
func once(path string) bool {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func failures() {
	worker.Function("fail", func(text string) error { return errors.New(text) })
	worker.Function("panics", func(list []int, i int) int { return list[i] })
	worker.Function("fails_once", func(path string) (string, error) {
		if once(path) {
			return "", errors.New("not yet")
		}
		return "done", nil
	})
	worker.Function("never", func(path string) error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.WriteString("x"); err != nil {
			return err
		}
		return worker.NoRetry(errors.New("never"))
	})
	worker.Function("exits", func(status int) { os.Exit(status) })
	worker.Function("dies_once", func(path string) int {
		if once(path) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return os.Getpid()
	})
	worker.Function("dies_or_waits", func(path string) string {
		if _, err := os.Stat(path); err == nil {
			return "again"
		}
		if err := os.WriteFile(path+".new", []byte(fmt.Sprint(os.Getpid())), 0o600); err == nil {
			_ = os.Rename(path+".new", path)
		}
		select {}
	})
	worker.Function("panics_elsewhere", func() {
		go func() { panic("in a goroutine of its own") }()
		select {}
	})
	worker.Function("waits", func(ctx context.Context, path string) error {
		once(path)
		<-ctx.Done()
		once(path + ".cancelled")
		return ctx.Err()
	})
}

func streams() {
	worker.Stream1("count", func(ctx context.Context, n int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
		}
	})
	worker.Function("letters", func(text string) iter.Seq[string] {
		return func(yield func(string) bool) {
			for _, r := range text {
				if !yield(string(r)) {
					return
				}
			}
		}
	})
	worker.Stream1("breaks", func(_ context.Context, at int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range at {
				yield(i, nil)
			}
			yield(0, fmt.Errorf("broken at %d", at))
		}
	})
	worker.Function("noted", func(path string) iter.Seq[int] {
		return func(yield func(int) bool) {
			defer once(path + ".closed")
			for i := 0; yield(i); i++ {
				_ = os.WriteFile(path, []byte(fmt.Sprint(i+1)), 0o600)
			}
		}
	})
}

func nested() {
	worker.Function("python", func(ctx context.Context, path string, x any) (any, error) {
		f, err := worker.Session(ctx).Function(path, core.Call{NumCPUs: 0, ZeroCPUs: true})
		if err != nil {
			return nil, err
		}
		r, err := core.Submit[any](ctx, f, x)
		if err != nil {
			return nil, err
		}
		return core.Get(ctx, r)
	})
	worker.Function("fib", fib)
	worker.Function("get", func(ctx context.Context, refs []*core.Ref[int]) (int, error) {
		list, err := core.GetAll(ctx, refs)
		n := 0
		for _, x := range list {
			n += x
		}
		return n, err
	})
	worker.Function("put", func(ctx context.Context, v any) (*core.Ref[any], error) {
		return core.Put(ctx, worker.Session(ctx), v)
	})
	worker.Function("add_to", func(ctx context.Context, a *core.Actor, method string, n int) (int, error) {
		r, err := core.Invoke[int](ctx, a, method, n)
		if err != nil {
			return 0, err
		}
		return core.Get(ctx, r)
	})
	worker.Function("make_counter", func(ctx context.Context, start int) (*core.Actor, error) {
		return worker.Session(ctx).NewGoActor(ctx, "Counter", core.Call{}, start)
	})
	worker.Function("waits_for_child", func(ctx context.Context, path string) error {
		f, err := worker.Session(ctx).GoFunction("waits", core.Call{ZeroCPUs: true})
		if err != nil {
			return err
		}
		r, err := core.Submit[any](ctx, f, path)
		if err != nil {
			return err
		}
		_, err = core.Get(ctx, r)
		return err
	})
}

func fib(ctx context.Context, n int) (int, error) {
	if n < 2 {
		return n, nil
	}
	f, err := worker.Session(ctx).GoFunction("fib", core.Call{})
	if err != nil {
		return 0, err
	}
	a, err := core.Submit[int](ctx, f, n-1)
	if err != nil {
		return 0, err
	}
	b, err := core.Submit[int](ctx, f, n-2)
	if err != nil {
		return 0, err
	}
	list, err := core.GetAll(ctx, []*core.Ref[int]{a, b})
	if err != nil {
		return 0, err
	}
	return list[0] + list[1], nil
}

// Counter is an actor.
type Counter struct {
	mu   sync.Mutex
	n    int
	meet chan struct{}
}

// NewCounter begins at a number.
func NewCounter(start ...int) *Counter {
	c := &Counter{meet: make(chan struct{})}
	for _, n := range start {
		c.n += n
	}
	return c
}

// Add adds, and returns the sum.
func (c *Counter) Add(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	return c.n
}

// Pid is that of the actor's process.
func (c *Counter) Pid() int { return os.Getpid() }

// GPUs are the actor's.
func (c *Counter) GPUs(ctx context.Context) []string { return worker.GPUs(ctx) }

// Actor is the id of the actor.
func (c *Counter) Actor(ctx context.Context) string { return worker.Call(ctx).ActorID }

// Fail fails.
func (c *Counter) Fail(text string) error { return errors.New(text) }

// FailOnce fails when the file is not there yet.
func (c *Counter) FailOnce(path string) (string, error) {
	if once(path) {
		return "", errors.New("not yet")
	}
	return "done", nil
}

// Meet waits until a second call is there.
func (c *Counter) Meet(ctx context.Context) (bool, error) {
	select {
	case c.meet <- struct{}{}:
	case <-c.meet:
	case <-time.After(20 * time.Second):
		return false, errors.New("nobody came")
	}
	return true, nil
}

// Wait waits until the call is cancelled.
func (c *Counter) Wait(ctx context.Context, path string) error {
	once(path)
	<-ctx.Done()
	return ctx.Err()
}

// Steps counts on.
func (c *Counter) Steps(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(c.Add(1) + 0*i) {
				return
			}
		}
	}
}

// DieOnce ends the process when the file is not there yet.
func (c *Counter) DieOnce(path string) int {
	if once(path) {
		os.Exit(3)
	}
	return c.n
}

// Leave ends the actor.
func (c *Counter) Leave() error { return worker.ErrExitActor }

// Channel cannot be called from elsewhere.
func (c *Counter) Channel(chan int) {}
