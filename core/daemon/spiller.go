package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/machine"
	"github.com/eagleray/eagleray/core/spill"
	"github.com/eagleray/eagleray/core/store"
)

// SpillOptions say where objects go for which the arena has no room.
type SpillOptions struct {
	Off       bool
	Roots     []string      // directories; none: the session's
	Threshold float64       // part of the arena in use from which on objects are written ahead; 0: the default
	Full      float64       // part of a file system in use from which on nothing is written to it; 0: the default
	MinBytes  uint64        // that are written together, if there are; 0: the default
	Readers   int           // objects that are read from disk at a time; 0: the default
	Grace     time.Duration // how long a full arena's pins are waited for before a file takes an object; 0: the default
	Cache     float64       // part of the memory that can be had in which the page cache may keep what is spilled; 0: the default
	FS        spill.FS      // nil: the machine's
}

// Defaults of SpillOptions.
const (
	spillThreshold = 0.8
	spillFull      = 0.95
	spillMinBytes  = 16 << 20
	spillReaders   = 8
	spillGrace     = 100 * time.Millisecond
)

// spillLimit bounds Close's wait for disks that hang.
const spillLimit = time.Second

// spiller does what the object table orders: each order on a goroutine.
type spiller struct {
	*messenger
	store *spill.Store
	slots chan struct{} // of readers

	arena *store.Mapping

	writing, reading      int // orders under way; the daemon's lock guards them
	writeBegan, readBegan time.Time
}

// openSpiller makes the directories and wires the object table to them.
func (d *Daemon) openSpiller() error {
	o := d.o.Spill
	if o.Off {
		d.keepInMemory(o.Grace)
		return nil
	}
	roots := o.Roots
	if len(roots) == 0 {
		roots = []string{d.o.SessionDir}
	}
	if o.Threshold == 0 {
		o.Threshold = spillThreshold
	}
	if o.Full == 0 {
		o.Full = spillFull
	}
	if o.MinBytes == 0 {
		o.MinBytes = spillMinBytes
	}
	if o.Readers == 0 {
		o.Readers = spillReaders
	}
	if o.Grace == 0 {
		o.Grace = spillGrace
	}
	if o.Cache == 0 {
		o.Cache = spillCache
	}
	st, err := spill.Open(spill.Options{
		Roots: roots, Name: filepath.Base(d.o.SessionDir), Full: o.Full,
		Cache: shareOf(machine.Here().MemoryAvailable, o.Cache), FS: o.FS,
	})
	if err != nil {
		return &SpillError{err}
	}
	if err := os.WriteFile(filepath.Join(d.o.SessionDir, spilledName), []byte(strings.Join(st.Dirs(), "\n")+"\n"), 0o600); err != nil {
		st.Close(spillLimit)
		return fmt.Errorf("session directory: %w", err)
	}
	m, err := store.Map(d.fd, d.o.ArenaBytes)
	if err != nil {
		st.Close(spillLimit)
		return err
	}
	d.spill = &spiller{messenger: d.newMessenger(), store: st, arena: m, slots: make(chan struct{}, o.Readers)}
	t := d.objects
	t.mover = d.spill
	t.batchBytes = min(o.MinBytes, d.o.ArenaBytes/8)
	t.ahead = uint64(o.Threshold * float64(d.o.ArenaBytes))
	t.grace = o.Grace
	return nil
}

// SpillError says which of the directories that were asked for cannot be used.
type SpillError struct{ error }

func (e *SpillError) Unwrap() error { return e.error }

// spilledName is the file of a session that says where it spills to.
const spilledName = "spilled"

// sweepSpilled removes what a killed session has spilled.
func sweepSpilled(session string) {
	b, err := os.ReadFile(filepath.Join(session, spilledName))
	if err != nil {
		return
	}
	for dir := range strings.Lines(string(b)) {
		_ = spill.SweepDir(strings.TrimSuffix(dir, "\n"))
	}
}

func (s *spiller) close() {
	if s == nil {
		return
	}
	s.store.Close(spillLimit)
}

// write implements mover.
func (s *spiller) write(b *batch) {
	items := make([]spill.Item, len(b.objects))
	offs := make([]uint64, len(items))
	for i, o := range b.objects {
		items[i].ID, offs[i] = o.id, o.off
	}
	if s.writing++; s.writing == 1 {
		s.writeBegan = time.Now()
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
			records, err = s.store.Write(items)
		}
		if err != nil {
			s.d.log.Warn("spilling objects failed", "error", err)
		}
		s.answer(func(t *objects) {
			if s.writing--; s.writing == 0 {
				t.spillTime += time.Since(s.writeBegan)
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

// nowhere takes what is only verified.
type nowhere struct{}

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }

// restore implements mover.
func (s *spiller) restore(o *object, to place) {
	r := o.disk.(*spill.Record)
	if s.reading++; s.reading == 1 {
		s.readBegan = time.Now()
	}
	go func() {
		s.slots <- struct{}{}
		err := s.read(r, to)
		<-s.slots
		if err != nil {
			s.d.log.Warn("a spilled object is lost", "object", o.id.String(), "error", err)
		}
		s.answer(func(t *objects) {
			if s.reading--; s.reading == 0 {
				t.restoreTime += time.Since(s.readBegan)
			}
			t.restored(o, to, err)
		})
	}()
}

// shortages pass: they are no reason to give an object up.
const (
	shortageTries = 50
	shortageWait  = 100 * time.Millisecond
)

func (s *spiller) read(r *spill.Record, to place) (err error) {
	for range shortageTries {
		if to.copy {
			err = r.Read(nowhere{})
		} else if to.path != "" {
			err = s.store.Fill(to.path, r)
		} else {
			err = r.Read(arenaAt{s.arena, to.off})
		}
		if !scarce(err) {
			return err
		}
		select {
		case <-time.After(shortageWait):
		case <-s.d.stop:
			return err
		}
	}
	return err
}

// makeFile implements mover.
func (s *spiller) makeFile(r *request) {
	size, needed := r.size, r.restore != nil
	go func() {
		path, err := s.store.NewFile(size, needed)
		s.answer(func(t *objects) { t.fileMade(r, path, err) })
	}()
}

// removeFile implements mover.
func (s *spiller) removeFile(path string) { s.store.Remove(path) }
