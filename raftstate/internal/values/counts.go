package values

import (
	"errors"
	"fmt"
	"iter"

	"github.com/eagleray/eagleray/core/record"
)

// Why a large value cannot be named.
var (
	// ErrFull: the large values together would have more than record.MaxAllBlobBytes.
	ErrFull = errors.New("there is no room for one more large value")
	// ErrTwoSizes: another record names a value with the same hash and another size.
	ErrTwoSizes = errors.New("another record gives the same large value another size")
)

// use says how many records name a large value.
type use struct {
	size  uint32
	users int
}

// Counts are the large values that records name.
type Counts struct {
	uses  map[record.BlobHash]use
	bytes int64 // of all of them, equal ones once
	moves int
}

// NewCounts returns the counts of no records.
func NewCounts() *Counts { return &Counts{uses: map[record.BlobHash]use{}} }

// Add notes that a record names these values. It changes nothing when they do not fit.
func (c *Counts) Add(list ...record.Blob) error {
	for i, b := range list {
		u, known := c.uses[b.Hash]
		var why error
		switch {
		case known && u.size != b.Size:
			why = ErrTwoSizes
		case !known && c.bytes+int64(b.Size) > record.MaxAllBlobBytes:
			why = ErrFull
		}
		if why != nil {
			c.Remove(list[:i]...)
			return why
		}
		if !known {
			c.bytes += int64(b.Size)
			c.moves++
		}
		c.uses[b.Hash] = use{b.Size, u.users + 1}
	}
	return nil
}

// Remove notes that a record names these values no more.
func (c *Counts) Remove(list ...record.Blob) {
	for _, b := range list {
		u := c.uses[b.Hash]
		if u.users--; u.users > 0 {
			c.uses[b.Hash] = u
			continue
		}
		delete(c.uses, b.Hash)
		c.bytes -= int64(b.Size)
		c.moves++
	}
}

// Restore adds the values of a record of a snapshot, after it has checked them.
func (c *Counts) Restore(list ...record.Blob) error {
	for _, b := range list {
		if err := b.Check(); err != nil {
			return err
		}
	}
	if err := c.Add(list...); err != nil {
		return fmt.Errorf("its large values cannot be: %w", err)
	}
	return nil
}

// Users returns how many records name a value.
func (c *Counts) Users(h record.BlobHash) int { return c.uses[h].users }

// Len returns how many values are named.
func (c *Counts) Len() int { return len(c.uses) }

// Moves counts how often a value has become named, or named no more.
func (c *Counts) Moves() int { return c.moves }

// All gives the values that are named, in no order.
func (c *Counts) All() iter.Seq[record.Blob] {
	return func(yield func(record.Blob) bool) {
		for h, u := range c.uses {
			if !yield(record.Blob{Hash: h, Size: u.size}) {
				return
			}
		}
	}
}
