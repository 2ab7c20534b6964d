package spill

import "sync/atomic"

// Hold has the record last until Release is called once more.
func (r *Record) Hold() { atomic.AddInt32(&r.holds, 1) }

// Release says that the record is not needed any more. It must be called once, and once more for each Hold.
// It does not wait for the disk.
func (r *Record) Release() {
	if atomic.AddInt32(&r.holds, -1) >= 0 {
		return
	}
	s := r.file.s
	if !r.direct {
		s.cached.Add(-int64(r.stored))
	}
	if left := r.file.release(); left && r.stored >= punchFrom {
		from, to := r.at, r.at+headerSize+int64(r.stored)
		if r.direct { // parts of pages would be read to be zeroed
			from, to = from&^(pageSize-1), pages(to)
		}
		s.later(func() { _ = s.fs.Punch(r.file.path, from, to-from) }) // else it goes with the file
	}
}

// punchFrom is the size from which on a record is worth giving back before its file goes.
const punchFrom = 1 << 20

// release reports whether other records are left.
func (f *file) release() bool {
	if f.live.Add(-1) > 0 {
		return true
	}
	f.s.Remove(f.path)
	return false
}
