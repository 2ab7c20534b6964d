package core

import "testing"

// Whatever a Python worker returns, a Go program gets a value or an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x94\x01\x01\xc4\x01\x05\x90"))
	for format := range byte(8) {
		f.Add([]byte{0x94, 1, format, 0xc4, 5, 0x93, 0xa1, 'f', 0xa1, 'c', 0x90})
		f.Add([]byte{0x94, 1, format, 0xc4, 5, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x90})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decode[any](b)
		_, _ = decode[[]string](b)
		_, _ = decode[map[string]float64](b)
	})
}
