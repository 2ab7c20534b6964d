package pulls

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
)

// lookOnDisk looks whether the chunk can be read from a copy on disk of an object that is nowhere else. Such an object is not
// brought back for another node, because others would have to leave the arena for it. Done is nil if the chunk cannot be read like that. The lock is held.
func (s *server) lookOnDisk(q *request) (r room, done func()) {
	c, size, ok := s.p.o.Store.HoldSpilled(q.id)
	switch {
	case !ok:
		return r, nil
	case q.off%chunkSize != 0 || !q.within(size) || uint64(q.n) != min(chunkSize, size-q.off): // it is no chunk
		c.Release()
		return r, nil
	}
	return room{disk: c}, c.Release
}

// checkCopy has the store read an object back from disk, because a part of it could not be read there. If it cannot
// be read back, the store says that the object is lost. The lock is held.
func (p *Pulls) checkCopy(id ids.Object) {
	p.o.Store.Pin(p, id, func(_ objects.Place, _ uint64, err error) {
		if err == nil {
			p.later(func() { p.o.Store.Unpin(p, id) })
		}
	})
}
