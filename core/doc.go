// Package core is Eagle Ray for Go programs: join a running local cluster, put
// and get values, call Python functions, create Python actors and call their
// methods.
//
//	s, err := core.Connect(ctx, core.Options{})
//	defer s.Close()
//	f, err := s.Function("math:sqrt", core.Call{})
//	ref, err := core.Submit[float64](ctx, f, 2.0)
//	root, err := core.Get(ctx, ref)
//
// Items of a Python generator come while it runs:
//
//	items, err := core.Stream[int](ctx, f, 10)
//	for v, err := range items.All(ctx) { … }
//
// Small values that programs agree on (a leader, a configuration) are in the cluster's key-value store, see KV:
//
//	version, err := s.KV().CompareAndSwap(ctx, "shop/leader", 0, []byte("me"))
//
// A Go value becomes the Python value of the same kind, and a Python value becomes the Go type
// that the program names: numbers, text, bytes, lists, dicts, structs, dates, numpy arrays, and
// references anywhere inside. Nothing is converted with a loss: a value that does not fit is an
// error. docs/go.md has the table of conversions, lifetimes, errors and what is stable.
//
// The garbage collector releases what the program cannot reach any more: references, functions,
// actors, generators and the shared memory of arrays. A Session runs one reader goroutine, and one
// goroutine for each control connection. Everything here may be used from any goroutine.
package core
