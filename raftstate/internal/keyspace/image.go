package keyspace

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/record"
)

// Image is the layout of a store in a snapshot. Its lists have an order that follows from the store alone. The empty Image is that of an
// empty store, and so of a snapshot of an earlier version.
type Image struct {
	Keys    []record.KeyPair   `msgpack:"keys"`
	Leases  []record.KeyLease  `msgpack:"leases"`
	Reign   uint64             `msgpack:"reign"`
	Seq     uint64             `msgpack:"seq"`
	Changes []record.KeyChange `msgpack:"changes"`
}

// Image lays the store out.
func (s *Space) Image() Image {
	im := Image{Leases: s.Leases(), Reign: s.reign, Seq: s.past.last, Changes: s.past.kept}
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		im.Keys = append(im.Keys, *s.keys[key])
	}
	return im
}

// Space builds the store that the image was made from.
func (im *Image) Space() (*Space, error) {
	s := New()
	s.reign = im.Reign
	for _, l := range im.Leases {
		s.leases[l.ID] = &lease{ttlMs: l.TTLMs, keys: map[string]struct{}{}}
	}
	for i := range im.Keys {
		p := im.Keys[i]
		p.Value = value(p.Value)
		if p.Lease != 0 && s.leases[p.Lease] == nil {
			return nil, fmt.Errorf("key %q has lease %d, which is not there", p.Key, p.Lease)
		}
		if s.keys[p.Key] != nil {
			return nil, fmt.Errorf("key %q is there twice", p.Key)
		}
		s.keep(&p)
	}
	for i := range im.Changes {
		c := im.Changes[i]
		if want := im.Seq - uint64(len(im.Changes)-1-i); c.Seq != want {
			return nil, fmt.Errorf("change %d stands in the place of change %d", c.Seq, want)
		}
		if !c.Deleted {
			c.Value = value(c.Value)
		}
		s.past.kept = append(s.past.kept, c)
		s.past.bytes += changeSize(&c)
	}
	if s.past.last = im.Seq; uint64(len(im.Changes)) > im.Seq {
		return nil, errors.New("there are more changes than were made")
	}
	return s, nil
}
