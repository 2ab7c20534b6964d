package spill

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false))
	if err != nil {
		panic("spill: " + err.Error()) // constant options
	}
	return e
}}

var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic("spill: " + err.Error()) // constant options
	}
	return d
}}
