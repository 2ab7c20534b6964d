package core_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/eagleray/eagleray/core"
)

// BenchmarkKV_Put stores a value of 100 bytes, from 16 goroutines for each processor, through the daemon in the state of a durable head.
func BenchmarkKV_Put(b *testing.B) {
	benchmarkKV(b, func(kv *core.KV, key string) error {
		_, err := kv.Put(b.Context(), key, make([]byte, 100))
		return err
	})
}

// BenchmarkKV_Get reads what is stored there.
func BenchmarkKV_Get(b *testing.B) {
	benchmarkKV(b, func(kv *core.KV, key string) error {
		_, _, err := kv.Get(b.Context(), key)
		return err
	})
}

func benchmarkKV(b *testing.B, do func(kv *core.KV, key string) error) {
	s, err := core.Connect(b.Context(), opts)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := range 64 {
		if _, err := s.KV().Put(b.Context(), fmt.Sprint("bench/", i), make([]byte, 100)); err != nil {
			b.Fatal(err)
		}
	}
	var n atomic.Uint64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := do(s.KV(), fmt.Sprint("bench/", n.Add(1)%64)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
