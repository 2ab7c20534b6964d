package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/eagleray/eagleray/core"
)

// The functions that these examples call are registered as in the introduction of the package.

func Example() {
	ctx := context.Background()
	s, err := core.Connect(ctx, core.Options{GoWorker: program}) // the path of a program that calls worker.Main
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	sum, err := s.GoFunction("sum", core.Call{NumCPUs: 1})
	if err != nil {
		log.Fatal(err)
	}
	ref, err := core.Submit[int](ctx, sum, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(core.Get(ctx, ref))
	// Output: 5 <nil>
}

func ExampleActor() {
	ctx, s := context.Background(), connect()
	defer s.Close()
	account, err := s.NewGoActor(ctx, "Account", core.Call{MaxRestarts: 1}, 10)
	if err != nil {
		log.Fatal(err)
	}
	balance, err := core.Invoke[int](ctx, account, "Deposit", 5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(core.Get(ctx, balance))
	// Output: 15 <nil>
}

func ExampleStream1() {
	ctx, s := context.Background(), connect()
	defer s.Close()
	squares, err := s.GoFunction("squares", core.Call{})
	if err != nil {
		log.Fatal(err)
	}
	items, err := core.Stream[int](ctx, squares, 4)
	if err != nil {
		log.Fatal(err)
	}
	for v, err := range items.All(ctx) {
		fmt.Println(v, err)
	}
	// Output:
	// 0 <nil>
	// 1 <nil>
	// 4 <nil>
	// 9 <nil>
}

func ExampleGPUs() {
	ctx, s := context.Background(), connect()
	defer s.Close()
	gpus, err := s.GoFunction("gpus", core.Call{NumGPUs: 2})
	if err != nil {
		log.Fatal(err)
	}
	ref, err := core.Submit[[]string](ctx, gpus)
	if err != nil {
		log.Fatal(err)
	}
	ids, err := core.Get(ctx, ref)
	fmt.Println(len(ids), err)
	// Output: 2 <nil>
}

func ExampleNoRetry() {
	ctx, s := context.Background(), connect()
	defer s.Close()
	root, err := s.GoFunction("root", core.Call{MaxRetries: 5, RetryExceptions: true}) // which are not used: the error is marked
	if err != nil {
		log.Fatal(err)
	}
	ref, err := core.Submit[float64](ctx, root, -4)
	if err != nil {
		log.Fatal(err)
	}
	_, err = core.Get(ctx, ref)
	var failed *core.RemoteError
	if errors.As(err, &failed) {
		fmt.Println(failed.Language, failed.Class, failed.Message)
	}
	// Output: go error -4 has no root
}
