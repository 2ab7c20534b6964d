// Gocaller measures calls from Go for tests/bench/go_workers.py: of a function and an actor of the Go worker program in its argument, and of the
// same in Python. It writes one line of JSON for each figure: its name and calls in a second.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/eagleray/eagleray/core"
)

const (
	calls  = 1000
	rounds = 5
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program string) error {
	s, err := core.Connect(ctx, core.Options{GoWorker: program})
	if err != nil {
		return err
	}
	defer s.Close()
	goSum, err := s.GoFunction("sum", core.Call{})
	if err != nil {
		return err
	}
	pySum, err := s.Function("operator:add", core.Call{})
	if err != nil {
		return err
	}
	counter, err := s.NewGoActor(ctx, "Counter", core.Call{})
	if err != nil {
		return err
	}
	for range rounds {
		for name, call := range map[string]func() (*core.Ref[int], error){
			"Go to Go, task":         func() (*core.Ref[int], error) { return core.Submit[int](ctx, goSum, 1, 2) },
			"Go to Python, task":     func() (*core.Ref[int], error) { return core.Submit[int](ctx, pySum, 1, 2) },
			"Go to Go, actor's call": func() (*core.Ref[int], error) { return core.Invoke[int](ctx, counter, "Add", 1) },
		} {
			if err := measure(ctx, name, call); err != nil {
				return err
			}
		}
	}
	return nil
}

func measure(ctx context.Context, name string, call func() (*core.Ref[int], error)) error {
	one := func() error {
		ref, err := call()
		if err == nil {
			_, err = core.Get(ctx, ref)
		}
		return err
	}
	if err := one(); err != nil { // warm
		return err
	}
	begin := time.Now()
	for range calls {
		if err := one(); err != nil {
			return err
		}
	}
	say(name+", one after the other", time.Since(begin))
	refs := make([]*core.Ref[int], calls)
	begin = time.Now()
	for i := range refs {
		var err error
		if refs[i], err = call(); err != nil {
			return err
		}
	}
	if _, err := core.GetAll(ctx, refs); err != nil {
		return err
	}
	say(name+", 1,000 at once", time.Since(begin))
	return nil
}

func say(name string, took time.Duration) {
	b, _ := json.Marshal([]any{name, calls / took.Seconds()})
	fmt.Println(string(b))
}
