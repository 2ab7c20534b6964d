package values

import "github.com/eagleray/eagleray/core/record"

// Value is a value of the state: its bytes, or the name of a large value.
type Value struct {
	Data []byte
	Blob *record.Blob
}

// Size is how many bytes the value has.
func (v Value) Size() uint64 {
	if v.Blob != nil {
		return uint64(v.Blob.Size)
	}
	return uint64(len(v.Data))
}

// Large returns the large value, if it is one.
func (v Value) Large() []record.Blob {
	if v.Blob == nil {
		return nil
	}
	return []record.Blob{*v.Blob}
}
