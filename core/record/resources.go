package record

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vmihailenco/msgpack/v5"
)

// maxResourceNames bounds what is read off the wire or a disk.
const maxResourceNames = 1 << 16

// Resources maps a resource's name to an amount in units of 1/10000.
type Resources map[string]int64

// EncodeMsgpack writes the names in order: the same map gives the same bytes.
func (r Resources) EncodeMsgpack(e *msgpack.Encoder) error {
	if r == nil {
		return e.EncodeNil()
	}
	if err := e.EncodeMapLen(len(r)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if err := e.EncodeString(name); err != nil {
			return err
		}
		if err := e.EncodeInt(r[name]); err != nil {
			return err
		}
	}
	return nil
}

// DecodeMsgpack reads what EncodeMsgpack wrote.
func (r *Resources) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeMapLen()
	if err != nil {
		return err
	}
	if n < 0 {
		*r = nil
		return nil
	}
	if n > maxResourceNames {
		return fmt.Errorf("%d resource names, at most %d are allowed", n, maxResourceNames)
	}
	m := make(Resources, min(n, 64))
	for range n {
		name, err := d.DecodeString()
		if err != nil {
			return err
		}
		if m[name], err = d.DecodeInt64(); err != nil {
			return err
		}
	}
	*r = m
	return nil
}
