// Command goservice is a Go program that uses a running Eagle Ray cluster:
// it stores values, calls Python functions, keeps state in a Python actor and
// reads a numpy array without copying it.
//
//	eagleray start --head
//	go run ./examples/goservice
//	eagleray stop
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/store"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := core.Connect(ctx, core.Options{})
	if err != nil {
		return err
	}
	defer s.Close()

	// A value goes in and comes back.
	ref, err := core.Put(s, map[string]any{"answer": 42})
	if err != nil {
		return err
	}
	back, err := core.Get(ctx, ref)
	if err != nil {
		return err
	}
	fmt.Println("put and get:", back)

	// A Python function, by import path.
	sqrt, err := s.Function("math:sqrt", core.Call{})
	if err != nil {
		return err
	}
	var roots []core.AnyRef
	for i := range 5 {
		r, err := core.Submit[float64](sqrt, float64(i*i))
		if err != nil {
			return err
		}
		roots = append(roots, r)
	}
	ready, _, err := core.Wait(ctx, s, roots, len(roots))
	if err != nil {
		return err
	}
	sum := 0.0
	for _, r := range ready {
		v, err := core.Get(ctx, r.(*core.Ref[float64]))
		if err != nil {
			return err
		}
		sum += v
	}
	fmt.Println("sum of roots:", sum)

	// State that lives in a Python actor.
	counter, err := s.NewActor("collections:Counter", core.Call{}, []string{"a", "b", "a"})
	if err != nil {
		return err
	}
	if _, err := core.Invoke[any](counter, "update", []string{"c", "a"}); err != nil {
		return err
	}
	total, err := core.Invoke[int](counter, "total") // calls run in order
	if err != nil {
		return err
	}
	n, err := core.Get(ctx, total)
	if err != nil {
		return err
	}
	fmt.Println("counted:", n)

	// A numpy array, as a view of shared memory.
	arange, err := s.Function("numpy:arange", core.Call{})
	if err != nil {
		return err
	}
	arr, err := core.Submit[core.NDArray](arange, 1_000_000)
	if err != nil {
		return err
	}
	a, err := core.Get(ctx, arr)
	if err != nil {
		return err
	}
	view, err := store.View[int64](a)
	if err != nil {
		return err
	}
	fmt.Println("numpy array:", a.DType, a.Shape, "last element", view[len(view)-1])
	return nil
}
