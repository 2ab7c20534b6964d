package spill

import (
	"bytes"
	"testing"
	"time"
)

func TestProber_FindsWhatShrinks_AlsoAfterMuchThatDoesNot(t *testing.T) {
	var p prober
	random := noise(1, 1<<20)
	for range 10 {
		if p.worthIt(random) {
			t.Fatal("noise is worth compressing")
		}
	}
	if p.failed.Load() != failedProbes {
		t.Fatalf("%d probes in vain", p.failed.Load())
	}
	text := bytes.Repeat([]byte("one object after the other, "), 40000)
	if !p.worthIt(text) || p.failed.Load() != 0 {
		t.Error("text is not")
	}
	if bits := bitsPerByte(random[:sampleSize]); bits < randomBits {
		t.Errorf("noise has %v bits a byte", bits)
	}
}

func TestCacheCost_HighCost_IsBypassedForAWhile(t *testing.T) {
	var w cacheCost
	cheap, costly := 200*time.Millisecond, 2500*time.Millisecond // for a gigabyte
	per := func(n int64, cost time.Duration) time.Duration {
		return time.Duration(float64(cost) * float64(n) / gigabyte)
	}
	const object = 16 << 20
	for range 100 {
		if !w.takes(object) {
			t.Fatal("cheap memory is passed by")
		}
		w.note(object, per(object, cheap))
	}
	taken := 0
	for range 100 {
		if w.takes(object) {
			taken++
			w.note(object, per(object, costly))
		}
	}
	// A measurement of 64 MiB, then 768 MiB past it.
	if taken < 4 || taken > 12 {
		t.Errorf("%d of 100 objects of 16 MiB went into costly memory", taken)
	}
}
