package core_test

import (
	"context"
	"fmt"
	"log"

	"github.com/eagleray/eagleray/core"
)

func ExampleSpread() {
	ctx, s := context.Background(), session()
	defer s.Close()
	length, err := s.Function("builtins:len", core.Call{Strategy: core.Spread()})
	if err != nil {
		log.Fatal(err)
	}
	n, _ := core.Submit[int](ctx, length, "abc")
	fmt.Println(core.Get(ctx, n))
	// Output: 3 <nil>
}

func ExampleOnNode() {
	ctx, s := context.Background(), session()
	defer s.Close()
	nodes, err := s.Nodes(ctx)
	if err != nil {
		log.Fatal(err)
	}
	length, err := s.Function("builtins:len", core.Call{Strategy: core.OnNode(nodes[0].ID, false)})
	if err != nil {
		log.Fatal(err)
	}
	n, _ := core.Submit[int](ctx, length, "abcd")
	fmt.Println(core.Get(ctx, n))
	// Output: 4 <nil>
}

func ExampleInGroup() {
	ctx, s := context.Background(), session()
	defer s.Close()
	group, err := s.NewPlacementGroup(ctx, []core.Bundle{{"CPU": 1}, {"CPU": 1, "slot": 1}}, core.GroupOptions{Strategy: "PACK"})
	if err != nil {
		log.Fatal(err)
	}
	if err := group.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	length, err := s.Function("builtins:len", core.Call{Strategy: core.InGroup(group, 1, false), Resources: map[string]float64{"slot": 1}})
	if err != nil {
		log.Fatal(err)
	}
	n, _ := core.Submit[int](ctx, length, "abcde")
	fmt.Println(core.Get(ctx, n))
	fmt.Println(group.Remove(ctx))
	// Output:
	// 5 <nil>
	// <nil>
}
