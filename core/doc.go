// Package core is Eagle Ray for Go programs: join a running local cluster, put
// and get values, call Python functions, create Python actors and call their
// methods.
//
//	s, err := core.Connect(ctx, core.Options{})
//	defer s.Close()
//	f, err := s.Function("math:sqrt", core.Call{})
//	ref, err := core.Submit[float64](f, 2.0)
//	root, err := core.Get(ctx, ref)
//
// Items of a Python generator come while it runs:
//
//	items, err := core.Stream[int](f, 10)
//	for v, err := range items.All(ctx) { … }
//
// Values are what msgpack knows: nil, bool, integers, floats, strings, byte
// slices, slices, maps with string keys, structs as maps; and NDArray for
// numpy arrays, which arrive as a typed view of shared memory. Python reads
// what Go put as the plain value, and the other way round. A Python value of
// another kind is an error that says so.
//
// A Session runs a reader goroutine and one per control connection; all of
// its methods may be called from any goroutine.
package core
