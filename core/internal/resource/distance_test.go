package resource

import "testing"

func TestDistance_CountsEachByteInsertedRemovedOrReplaced(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"gpu", "gpu", 0}, {"", "gpu", 3}, {"gpu", "", 3}, {"gpu", "gpus", 1}, {"gpus", "gpu", 1},
		{"gpu", "cpu", 1}, {"gpu", "ccu", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 2},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
