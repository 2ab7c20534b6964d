package raftlog

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/internal/planted"
)

// Log keeps raft's entries in segments. It is a raft.LogStore without gaps.
type Log struct {
	dir         string
	disk        Disk
	segmentSize int
	guard       *Guard
	keeps       func() uint64 // the entries after this one are needed, whatever raft says; see Snapshots

	mu       sync.RWMutex
	mark     mark
	segments []*segment // in order; the last one is written to
	first    uint64     // the oldest entry; older ones may still lie in its segment
	buf      []byte     // of the batch that is being written
}

// openLog reads all segments. cut gets what was cut off, "" for nothing.
func openLog(dir string, o Options, g *Guard) (l *Log, cut string, err error) {
	l = &Log{dir: dir, disk: o.Disk, segmentSize: o.SegmentSize, guard: g, keeps: func() uint64 { return ^uint64(0) }}
	firsts, err := segmentsIn(dir)
	if err != nil {
		return nil, "", err
	}
	var m marked
	if l.mark, m, err = openMark(l.disk, dir); err != nil {
		return nil, "", err
	}
	for i, first := range firsts {
		last := i == len(firsts)-1
		s, f, err := openSegment(l.disk, dir, first)
		if err == nil {
			l.segments = append(l.segments, s)
			cut, err = l.judge(s, f, last, m)
		}
		if err == nil && !last && s.next() != firsts[i+1] {
			err = damaged(s.path, s.end, "the segment ends with entry %d, and the next segment begins with entry %d", s.next()-1, firsts[i+1])
		}
		if err != nil {
			return nil, "", joined(err, l.close())
		}
	}
	if len(l.segments) > 0 {
		l.first = l.segments[0].first
	}
	if last := l.last(); last < m.acknowledged {
		err := damaged(filepath.Join(dir, markName), 0, "entries up to %d were acknowledged, and the log has none after %d", m.acknowledged, last)
		return nil, "", joined(err, l.close())
	}
	if m.deleting != 0 { // the process ended meanwhile
		if err := l.dropFrom(m.deleting); err != nil {
			return nil, "", joined(err, l.close())
		}
	}
	return l, cut, nil
}

// judge decides what becomes of a segment that has a flaw: a tail that was not acknowledged is cut off.
func (l *Log) judge(s *segment, f *flaw, last bool, m marked) (cut string, err error) {
	switch {
	case f == nil && last && s.next() <= m.acknowledged:
		return "", damaged(s.path, s.end, "the segment ends with entry %d, and entries up to %d were acknowledged", s.next()-1, m.acknowledged)
	case f == nil:
		return "", nil
	case last && m.deleting != 0 && m.deleting <= s.next():
		return "", s.cut(f.at)
	case !last, f.later, s.next() <= m.acknowledged:
		return "", damaged(s.path, f.at, "entry %d, which was acknowledged, cannot be read: %s", s.next(), f.what)
	}
	cut = fmt.Sprintf("%s ended at byte %d within a write that was not acknowledged, before entry %d (%s)", s.path, f.at, s.next(), f.what)
	return cut, s.cut(f.at)
}

// last returns the index of the newest entry, 0 for none. The lock is held, or nobody else knows the log.
func (l *Log) last() uint64 {
	if n := len(l.segments); n > 0 && l.segments[n-1].next() > l.first {
		return l.segments[n-1].next() - 1
	}
	return 0
}

// FirstIndex implements raft.LogStore.
func (l *Log) FirstIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.last() == 0 {
		return 0, nil
	}
	return l.first, nil
}

// LastIndex implements raft.LogStore.
func (l *Log) LastIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.last(), nil
}

// GetLog implements raft.LogStore. The entry's checksum is verified again.
func (l *Log) GetLog(index uint64, out *raft.Log) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if index < l.first || index > l.last() {
		return raft.ErrLogNotFound
	}
	i := len(l.segments) - 1
	for l.segments[i].first > index {
		i--
	}
	p, err := l.segments[i].read(index)
	if err != nil {
		return err
	}
	*out = p.entry
	return nil
}

// StoreLog implements raft.LogStore.
func (l *Log) StoreLog(e *raft.Log) error { return l.StoreLogs([]*raft.Log{e}) }

// StoreLogs implements raft.LogStore: when it returns, the entries are on the disk.
func (l *Log) StoreLogs(entries []*raft.Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.guard.Err(); err != nil {
		return err
	}
	for i, e := range entries {
		if before := entries[max(0, i-1)].Index; i > 0 && e.Index != before+1 || i == 0 && l.last() != 0 && e.Index != l.last()+1 || e.Index == 0 {
			return fmt.Errorf("store log entry %d: it does not follow the entries before", e.Index)
		}
		if n := len(e.Data) + len(e.Extensions); n > maxEntry {
			return fmt.Errorf("store log entry %d: it has %d bytes, and at most %d are allowed", e.Index, n, maxEntry)
		}
	}
	l.guard.log.start()
	defer l.guard.log.stop()
	for len(entries) > 0 {
		n := 0
		l.buf = l.buf[:0]
		for batch := entries[0].Index; n < len(entries) && (n == 0 || len(l.buf)+recordSize(entries[n]) <= maxBatch); n++ {
			l.buf = appendRecord(l.buf, entries[n], batch)
		}
		if err := l.write(entries[:n]); err != nil {
			return l.guard.stop(err)
		}
		entries = entries[n:]
	}
	if cap(l.buf) > maxKeptBuffer {
		l.buf = nil
	}
	return nil
}

// maxKeptBuffer is how large a buffer is kept for the next batch.
const maxKeptBuffer = 1 << 20

// write puts a batch, which lies in l.buf, on the disk. The lock is held.
func (l *Log) write(entries []*raft.Log) error {
	s, err := l.room(entries[0].Index)
	if err != nil {
		return err
	}
	if _, err := s.f.WriteAt(l.buf, s.end); err != nil {
		return err
	}
	if !planted.Strikes(planted.SkippedSync) {
		if err := s.f.Sync(); err != nil {
			return err
		}
	}
	for _, e := range entries {
		s.offsets = append(s.offsets, s.end)
		s.end += int64(recordSize(e))
	}
	return l.mark.set(marked{acknowledged: entries[len(entries)-1].Index})
}

// room returns the segment that takes the batch, whose first entry is given. The lock is held.
func (l *Log) room(first uint64) (*segment, error) {
	if l.last() == 0 {
		if err := l.drop(len(l.segments)); err != nil {
			return nil, err
		}
		l.first = first
	}
	if n := len(l.segments); n > 0 {
		if s := l.segments[n-1]; s.size-s.end >= int64(len(l.buf)) {
			return s, nil
		}
	}
	s, err := createSegment(l.disk, l.dir, first, max(l.segmentSize, segmentHeader+len(l.buf)))
	if err != nil {
		return nil, err
	}
	l.segments = append(l.segments, s)
	return s, nil
}

// DeleteRange implements raft.LogStore. raft deletes from the ends only: old entries after a snapshot, new ones that
// another leader has overruled, or all of them.
func (l *Log) DeleteRange(low, high uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.guard.Err(); err != nil {
		return err
	}
	last := l.last()
	if last == 0 || high < l.first || low > last || low > high {
		return nil
	}
	l.guard.log.start()
	defer l.guard.log.stop()
	var err error
	switch {
	case low <= l.first && high >= last:
		if err = l.mark.setSynced(marked{}); err == nil {
			err = l.drop(len(l.segments))
		}
		l.first = 0
	case low <= l.first:
		err = l.dropBefore(min(high, l.keeps()) + 1)
	case high >= last:
		err = l.dropFrom(low)
	default:
		return fmt.Errorf("delete log entries %d to %d: they are in the middle of %d to %d", low, high, l.first, last)
	}
	if err != nil {
		return l.guard.stop(err)
	}
	return nil
}

// dropBefore forgets the entries before one. Files go when none of their entries is needed. The lock is held.
func (l *Log) dropBefore(index uint64) error {
	if index <= l.first {
		return nil
	}
	l.first = index
	n := 0
	for n < len(l.segments)-1 && l.segments[n].next() <= index {
		n++
	}
	return l.drop(n)
}

// drop removes the first segments, the oldest first: whenever it ends, what is left has no gap. The lock is held.
func (l *Log) drop(n int) error {
	if n == 0 {
		return nil
	}
	var paths []string
	for _, s := range l.segments[:n] {
		paths = append(paths, s.path)
		_ = s.f.Close()
	}
	l.segments = append([]*segment(nil), l.segments[n:]...)
	return l.disk.Remove(l.dir, paths)
}

// dropFrom forgets an entry and all behind it, the newest first. The lock is held.
func (l *Log) dropFrom(index uint64) error {
	if err := l.mark.setSynced(marked{index - 1, index}); err != nil {
		return err
	}
	for n := len(l.segments) - 1; n > 0 && l.segments[n].first >= index; n-- {
		s := l.segments[n]
		l.segments = l.segments[:n]
		_ = s.f.Close()
		if err := l.disk.Remove(l.dir, []string{s.path}); err != nil {
			return err
		}
	}
	if n := len(l.segments); n > 0 && l.last() >= index {
		s := l.segments[n-1]
		if err := s.cut(s.offsets[index-s.first]); err != nil {
			return err
		}
	}
	return l.mark.setSynced(marked{acknowledged: index - 1})
}

// IsMonotonic implements raft.MonotonicLogStore: there are no gaps.
func (l *Log) IsMonotonic() bool { return true }

// close closes the files.
func (l *Log) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.mark.f.Close()
	for _, s := range l.segments {
		err = joined(err, s.f.Close())
	}
	l.segments, l.first = nil, 0
	return err
}
