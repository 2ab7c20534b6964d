package spill

import (
	"math"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// An object is compressed when a probe of its middle shrinks to two thirds.
const (
	probeSize = 64 << 10
	probeNum  = 3 // 1.5
	probeDen  = 2
)

// A probe takes as long as writing a megabyte. After several probes that did not shrink, only
// objects whose bytes do not look random are probed. The bytes of a small sample look random
// when none of them is much more frequent than the others.
const (
	failedProbes = 4
	sampleSize   = 8 << 10
	randomBits   = 7.9 // bits a byte, of 8; 8 KiB of random bytes have 7.97 or more
)

// prober decides what is worth compressing.
type prober struct{ failed atomic.Int32 }

func (p *prober) worthIt(b []byte) bool {
	if p.failed.Load() >= failedProbes && len(b) >= sampleSize && bitsPerByte(b[len(b)/2:][:min(sampleSize, len(b)-len(b)/2)]) >= randomBits {
		return false
	}
	n := min(len(b), probeSize)
	probe := b[(len(b)-n)/2:][:n]
	e := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(e)
	buf := chunks.Get().(*[]byte)
	defer chunks.Put(buf)
	worth := len(e.EncodeAll(probe, (*buf)[:0]))*probeNum <= n*probeDen
	if worth {
		p.failed.Store(0)
	} else if p.failed.Load() < failedProbes {
		p.failed.Add(1)
	}
	return worth
}

// bitsPerByte is the entropy of the bytes taken one by one.
func bitsPerByte(b []byte) float64 {
	var counts [256]int
	for _, x := range b {
		counts[x]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			bits -= float64(n) * math.Log2(float64(n)/float64(len(b)))
		}
	}
	return bits / float64(len(b))
}
