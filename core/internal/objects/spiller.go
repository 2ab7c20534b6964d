package objects

import (
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/internal/fdlimit"
	"github.com/eagleray/eagleray/core/internal/spill"
	"github.com/eagleray/eagleray/core/internal/store"
)

// closeLimit is how long Close waits for disks that hang.
const closeLimit = time.Second

// spiller carries out the orders of a table that has a disk. Each order runs on a
// goroutine of its own.
type spiller struct {
	*waker
	disk    *spill.Store
	readers chan struct{} // bounds how many objects are read at a time
	arena   *store.Mapping
	// users counts the orders that read or write the mapping, and the store itself.
	// A disk that hangs holds its order for longer than the store lives.
	users atomic.Int32

	writing, reading      int // orders under way; the lock guards them
	writeStart, readStart time.Time
}

func newSpiller(w *waker, disk *spill.Store, arena *store.Mapping, readers int) *spiller {
	s := &spiller{waker: w, disk: disk, readers: make(chan struct{}, readers), arena: arena}
	s.users.Store(1)
	return s
}

// close gives up the disk. The mapping goes with the last order that uses it.
func (s *spiller) close() {
	s.disk.Close(closeLimit)
	s.unuse()
}

func (s *spiller) unuse() {
	if s.users.Add(-1) == 0 {
		_ = s.arena.Close()
	}
}

// write implements effects.
func (s *spiller) write(b *batch) {
	if s.store.stopped {
		return // nobody needs it any more, and the mapping may be gone
	}
	s.users.Add(1)
	items := make([]spill.Item, len(b.objects))
	offs := make([]uint64, len(items))
	for i, o := range b.objects {
		items[i].ID, offs[i] = o.id, o.Off
	}
	if s.writing++; s.writing == 1 {
		s.writeStart = time.Now()
	}
	go func() {
		records := make([]*spill.Record, len(items))
		var err error
		for i := range items {
			if err == nil {
				items[i].Bytes, err = s.arena.Slice(offs[i], b.objects[i].size)
			}
		}
		if err == nil {
			records, err = s.disk.Write(items)
		}
		s.unuse()
		if err != nil {
			s.store.o.Log.Warn("spilling objects failed", "error", err)
		}
		s.store.answer(func() {
			t := s.store.Table
			if s.writing--; s.writing == 0 {
				t.spillTime += time.Since(s.writeStart)
			}
			t.spillFiles++
			copies := make([]diskCopy, len(records))
			for i, r := range records {
				if r != nil {
					copies[i] = r
				}
			}
			t.written(b, copies, err)
		})
	}()
}

// restore implements effects.
func (s *spiller) restore(o *object, to Place) {
	if s.store.stopped {
		return
	}
	s.users.Add(1)
	r := o.disk.(*spill.Record)
	if s.reading++; s.reading == 1 {
		s.readStart = time.Now()
	}
	go func() {
		s.readers <- struct{}{}
		err := s.read(r, to)
		<-s.readers
		s.unuse()
		if err != nil {
			s.store.o.Log.Warn("a spilled object is lost", "object", o.id.String(), "error", err)
		}
		s.store.answer(func() {
			t := s.store.Table
			if s.reading--; s.reading == 0 {
				t.restoreTime += time.Since(s.readStart)
			}
			t.restored(o, to, err)
		})
	}()
}

// A shortage of descriptors or memory passes, so it is no reason to give up an
// object.
const (
	shortageTries = 50
	shortageWait  = 100 * time.Millisecond
)

// read reads a copy to its place in memory. A copy that is read where it lies is
// only verified.
func (s *spiller) read(r *spill.Record, to Place) (err error) {
	for range shortageTries {
		switch {
		case to.copy:
			err = r.Read(nowhere{})
		case to.Path != "":
			err = s.disk.Fill(to.Path, r)
		default:
			err = r.Read(arenaAt{s.arena, to.Off})
		}
		if !fdlimit.Shortage(err) {
			return err
		}
		select {
		case <-time.After(shortageWait):
		case <-s.store.stop:
			return err
		}
	}
	return err
}

// makeFile implements effects.
func (s *spiller) makeFile(r *request) {
	size, needed := r.size, r.restore != nil
	go func() {
		path, err := s.disk.NewFile(size, needed)
		s.store.answer(func() { s.store.fileMade(r, path, err) })
	}()
}

// removeFile implements effects.
func (s *spiller) removeFile(path string) { s.disk.Remove(path) }

// arenaAt writes to the arena from an offset on.
type arenaAt struct {
	m   *store.Mapping
	off uint64
}

func (a arenaAt) WriteAt(b []byte, at int64) (int, error) {
	if err := a.m.WriteAt(a.off+uint64(at), b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Pages implements spill.Pages.
func (a arenaAt) Pages(size uint64) ([]byte, bool) {
	b, err := a.m.Pages(a.off, size)
	return b, err == nil
}

var _ spill.Pages = arenaAt{}

// nowhere drops the bytes of a copy that is only verified.
type nowhere struct{}

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
