package values

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/record"
)

// model is what Counts does, in the plainest form: the list of all records.
type model [][]record.Blob

// add adds a record unless it does not fit.
func (m *model) add(list []record.Blob) error {
	for i, b := range list {
		sizes, _, sum := (append(slices.Clone(*m), list[:i])).sizes()
		size, known := sizes[b.Hash]
		if known && size != b.Size {
			return ErrTwoSizes
		}
		if !known && sum+int64(b.Size) > record.MaxAllBlobBytes {
			return ErrFull
		}
	}
	*m = append(*m, list)
	return nil
}

// sizes returns the values that are named, how often each is, and their bytes together.
func (m model) sizes() (sizes map[record.BlobHash]uint32, users map[record.BlobHash]int, sum int64) {
	sizes, users = map[record.BlobHash]uint32{}, map[record.BlobHash]int{}
	for _, list := range m {
		for _, b := range list {
			if users[b.Hash]++; users[b.Hash] == 1 {
				sum += int64(b.Size)
			}
			sizes[b.Hash] = b.Size
		}
	}
	return sizes, users, sum
}

// same compares the counts with the model.
func same(t *testing.T, c *Counts, m model) {
	t.Helper()
	sizes, users, sum := m.sizes()
	if c.Len() != len(sizes) || c.bytes != sum {
		t.Fatalf("%d values of %d bytes are counted, want %d of %d", c.Len(), c.bytes, len(sizes), sum)
	}
	seen := 0
	for b := range c.All() {
		seen++
		if b.Size != sizes[b.Hash] || c.Users(b.Hash) != users[b.Hash] {
			t.Fatalf("%s has %d users, want %d bytes with %d", b, c.Users(b.Hash), sizes[b.Hash], users[b.Hash])
		}
	}
	if seen != len(sizes) {
		t.Fatalf("%d values are given, want %d", seen, len(sizes))
	}
}

// Random records come and go: the counts are those of a look at all records, a record that does not fit changes nothing, and the moves
// tell whether the set of named values is another one.
func TestCounts_RandomRecords_AsInAListOfThem(t *testing.T) {
	refused := map[error]int{}
	for seed := range uint64(3) {
		die := rand.New(rand.NewPCG(seed, 5))
		c, m := NewCounts(), model{}
		draw := func() record.Blob {
			// 320 values of 13 to 16 MiB, which do not all fit; one in a hundred has another size.
			h := die.IntN(320)
			b := record.Blob{Hash: record.BlobHash{byte(h), byte(h >> 8)}, Size: record.MaxBlobBytes - uint32(h%4)<<20}
			if die.IntN(100) == 0 {
				b.Size--
			}
			return b
		}
		for range 1000 {
			before, _, _ := m.sizes()
			moves := c.Moves()
			if len(m) > 0 && die.IntN(5) == 0 {
				at := die.IntN(len(m))
				c.Remove(m[at]...)
				m = slices.Delete(m, at, at+1)
			} else {
				list := make([]record.Blob, die.IntN(4))
				for i := range list {
					list[i] = draw()
				}
				add := c.Add
				if die.IntN(2) == 0 {
					add = c.Restore
				}
				err, want := add(list...), m.add(list)
				if !errors.Is(err, want) || want == nil && err != nil {
					t.Fatalf("seed %d: %v: got %v, want %v", seed, list, err, want)
				}
				refused[want]++
			}
			same(t, c, m)
			if after, _, _ := m.sizes(); len(after) != len(before) && c.Moves() == moves {
				t.Fatalf("seed %d: %d values were named, %d are, and nothing has moved", seed, len(before), len(after))
			}
		}
	}
	if refused[nil] == 0 || refused[ErrFull] == 0 || refused[ErrTwoSizes] == 0 {
		t.Errorf("the test does not see all answers: %v", refused)
	}
}

// A record of a snapshot with a value that cannot be is refused, and nothing of it counts.
func TestCounts_RestoreOfAValueThatCannotBe_Refused(t *testing.T) {
	c := NewCounts()
	good := record.Blob{Hash: record.BlobHash{1}, Size: 1}
	for what, bad := range map[string]record.Blob{"no bytes": {Hash: record.BlobHash{2}}, "too many bytes": {Hash: record.BlobHash{2}, Size: record.MaxBlobBytes + 1}} {
		if err := c.Restore(good, bad); err == nil || c.Len() != 0 {
			t.Errorf("%s: got %v, and %d values are counted", what, err, c.Len())
		}
	}
}
