package core_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/eagleray/eagleray/core"
)

// session joins the cluster that the tests run on.
func session() *core.Session {
	s, err := core.Connect(context.Background(), core.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func Example() {
	ctx := context.Background()
	s, err := core.Connect(ctx, core.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	sqrt, err := s.Function("math:sqrt", core.Call{})
	if err != nil {
		log.Fatal(err)
	}
	ref, err := core.Submit[float64](ctx, sqrt, 2.25)
	if err != nil {
		log.Fatal(err)
	}
	root, err := core.Get(ctx, ref)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(root)
	// Output: 1.5
}

func ExamplePut() {
	ctx, s := context.Background(), session()
	defer s.Close()
	type order struct {
		ID    int      `msgpack:"id"`
		Items []string `msgpack:"items"`
	}
	ref, err := core.Put(ctx, s, order{7, []string{"tea"}}) // a dict in Python
	if err != nil {
		log.Fatal(err)
	}
	length, _ := s.Function("builtins:len", core.Call{})
	n, err := core.Submit[int](ctx, length, ref) // which is given the dict
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(core.Get(ctx, n))
	// Output: 2 <nil>
}

func ExampleWait() {
	ctx, s := context.Background(), session()
	defer s.Close()
	length, _ := s.Function("builtins:len", core.Call{})
	var refs []*core.Ref[int]
	for _, text := range []string{"a", "bb", "ccc"} {
		ref, err := core.Submit[int](ctx, length, text)
		if err != nil {
			log.Fatal(err)
		}
		refs = append(refs, ref)
	}
	sum := 0
	for len(refs) > 0 {
		ready, rest, err := core.Wait(ctx, refs, 1)
		if err != nil {
			log.Fatal(err)
		}
		n, err := core.Get(ctx, ready[0])
		if err != nil {
			log.Fatal(err)
		}
		sum, refs = sum+n, rest
	}
	fmt.Println(sum)
	// Output: 6
}

func ExampleKwargs() {
	ctx, s := context.Background(), session()
	defer s.Close()
	parse, _ := s.Function("builtins:int", core.Call{})
	ref, err := core.Submit[int](ctx, parse, "ff", core.Kwargs{"base": 16})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(core.Get(ctx, ref))
	// Output: 255 <nil>
}

func ExampleSubmitMany() {
	ctx, s := context.Background(), session()
	defer s.Close()
	divide, _ := s.Function("builtins:divmod", core.Call{NumReturns: 2})
	refs, err := core.SubmitMany[int](ctx, divide, 17, 5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(core.GetAll(ctx, refs))
	// Output: [3 2] <nil>
}

func ExampleSession_NewActor() {
	ctx, s := context.Background(), session()
	defer s.Close()
	words, err := s.NewActor(ctx, "collections:Counter", core.Call{Name: "words", Namespace: "example"}, []string{"a", "b", "a"})
	if err != nil {
		log.Fatal(err)
	}
	same, err := s.GetActor(ctx, "words", "example")
	if err != nil {
		log.Fatal(err)
	}
	total, err := core.Invoke[int](ctx, same, "total")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(core.Get(ctx, total))
	_ = words.Kill(ctx)
	// Output: 3 <nil>
}

func ExampleStream() {
	ctx, s := context.Background(), session()
	defer s.Close()
	count, _ := s.Function("builtins:iter", core.Call{})
	items, err := core.Stream[int](ctx, count, []int{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	for v, err := range items.All(ctx) {
		fmt.Println(v, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}

func ExampleRemoteError() {
	ctx, s := context.Background(), session()
	defer s.Close()
	parse, _ := s.Function("builtins:int", core.Call{})
	ref, err := core.Submit[int](ctx, parse, "x")
	if err != nil {
		log.Fatal(err)
	}
	_, err = core.Get(ctx, ref)
	var raised *core.RemoteError
	if errors.As(err, &raised) {
		fmt.Println(raised.Class)
		fmt.Println(raised.Message)
	}
	// Output:
	// ValueError
	// invalid literal for int() with base 10: 'x'
}

func ExampleUse() {
	ctx, s := context.Background(), session()
	defer s.Close()
	arange, _ := s.Function("numpy:arange", core.Call{})
	ref, err := core.Submit[core.NDArray](ctx, arange, 1_000_000)
	if err != nil {
		log.Fatal(err)
	}
	a, err := core.Get(ctx, ref) // a view of shared memory
	if err != nil {
		log.Fatal(err)
	}
	sum := int64(0)
	err = core.Use(a, func(elements []int64) error {
		for _, x := range elements {
			sum += x
		}
		return nil
	})
	fmt.Println(sum, err)
	// Output: 499999500000 <nil>
}

func ExampleKV() {
	ctx, s := context.Background(), session()
	defer s.Close()
	kv := s.KV()
	version, err := kv.CompareAndSwap(ctx, "shop/config", 0, []byte("blue")) // the key must not be there
	if err != nil {
		log.Fatal(err)
	}
	list, err := kv.List(ctx, "shop/")
	if err != nil {
		log.Fatal(err)
	}
	if _, err = kv.CompareAndSwap(ctx, "shop/config", version, []byte("green")); err != nil {
		log.Fatal(err)
	}
	if _, err = kv.CompareAndSwap(ctx, "shop/config", version, []byte("red")); errors.Is(err, core.ErrVersionConflict) {
		fmt.Println("somebody was faster")
	}
	if err := kv.Delete(ctx, "shop/config"); err != nil {
		log.Fatal(err)
	}
	for change, err := range kv.Watch(ctx, "shop/", list.Seq) { // all that happened after the list
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s=%s deleted: %v\n", change.Key, change.Value, change.Deleted)
		if change.Deleted {
			break
		}
	}
	// Output:
	// somebody was faster
	// shop/config=green deleted: false
	// shop/config= deleted: true
}

func ExampleKVLease() {
	ctx, s := context.Background(), session()
	defer s.Close()
	lease, err := s.KV().Lease(ctx, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := lease.CompareAndSwap(ctx, "shop/leader", 0, []byte("me")); err != nil {
		log.Fatal(err)
	}
	fmt.Println("leads:", lease.Err() == nil)
	if err := lease.End(ctx); err != nil { // a leader that crashes loses the key when 10 s have passed
		log.Fatal(err)
	}
	<-lease.Lost()
	_, _, err = s.KV().Get(ctx, "shop/leader")
	fmt.Println("gone:", errors.Is(err, core.ErrNotFound))
	// Output:
	// leads: true
	// gone: true
}
