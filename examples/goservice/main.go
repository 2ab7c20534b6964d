// Command goservice is a Go program that uses a running Eagle Ray cluster:
// it stores values, calls Python functions, keeps state in a Python actor and
// reads a numpy array without copying it.
//
//	eagleray start --head
//	go run ./examples/goservice
//	eagleray stop
//
// With -listen it serves HTTP, and its handlers call actors with GPUs (serve.go):
//
//	eagleray start --head --num-gpus=2
//	go run ./examples/goservice -listen 127.0.0.1:8000 -gpus 2
//	curl 'http://127.0.0.1:8000/score?x=3'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/eagleray/eagleray/core"
)

func main() {
	listen := flag.String("listen", "", "serve HTTP at this HOST:PORT; empty: show the API and end")
	gpus := flag.Int("gpus", 2, "how many actors with a GPU each answer requests")
	modules := flag.String("modules", "examples/goservice", "the folder of model.py")
	flag.Parse()
	if *listen != "" {
		log.Fatal(listenAndServe(*listen, *modules, *gpus))
	}
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
	ref, err := core.Put(ctx, s, map[string]any{"answer": 42})
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
	var roots []*core.Ref[float64]
	for i := range 5 {
		r, err := core.Submit[float64](ctx, sqrt, float64(i*i))
		if err != nil {
			return err
		}
		roots = append(roots, r)
	}
	ready, _, err := core.Wait(ctx, roots, len(roots))
	if err != nil {
		return err
	}
	sum := 0.0
	for _, r := range ready {
		v, err := core.Get(ctx, r)
		if err != nil {
			return err
		}
		sum += v
	}
	fmt.Println("sum of roots:", sum)

	// An exception of the function is an error with its class.
	failed, err := core.Submit[float64](ctx, sqrt, -1)
	if err != nil {
		return err
	}
	var remote *core.RemoteError
	if _, err := core.Get(ctx, failed); errors.As(err, &remote) {
		fmt.Println("raised:", remote.Class)
	}

	// State that lives in a Python actor.
	counter, err := s.NewActor(ctx, "collections:Counter", core.Call{}, []string{"a", "b", "a"})
	if err != nil {
		return err
	}
	if _, err := core.Invoke[any](ctx, counter, "update", []string{"c", "a"}); err != nil {
		return err
	}
	total, err := core.Invoke[int](ctx, counter, "total") // calls run in order
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
	arr, err := core.Submit[core.NDArray](ctx, arange, 1_000_000)
	if err != nil {
		return err
	}
	a, err := core.Get(ctx, arr)
	if err != nil {
		return err
	}
	// The array keeps the shared memory; inside of Use its elements are a slice.
	return core.Use(a, func(elements []int64) error {
		fmt.Println("numpy array:", a.DType, a.Shape, "last element", elements[len(elements)-1])
		return nil
	})
}
