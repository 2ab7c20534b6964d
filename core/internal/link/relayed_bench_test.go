package link

import "testing"

// BenchmarkRelayed sends messages and waits for them to come back, over a stream that goes directly and over one that the head carries.
func BenchmarkRelayed(b *testing.B) {
	for _, way := range []string{"direct", "relayed"} {
		b.Run(way, func(b *testing.B) {
			n := newNetwork(b, "tls")
			n.head()
			n.cut(way == "relayed")
			a := n.member(1)
			n.member(2)
			s := open(b, a, 2)
			defer s.Close()
			exchange(b, s, make([]byte, 100)) // without a direct path this takes 5 s
			b.Run("one-by-one", func(b *testing.B) { oneByOne(b, s) })
			b.Run("megabytes", func(b *testing.B) {
				data := make([]byte, 1<<20)
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					exchange(b, s, data)
				}
			})
			if isRelayed(a, 2) != (way == "relayed") {
				b.Error("the session has gone the other way")
			}
		})
	}
}
