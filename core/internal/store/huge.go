package store

import (
	"errors"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// The first write to memory is slow because the system has to make its pages. That is
// several times faster with huge pages, 2 MiB at a time. Most systems give shared memory
// huge pages only on request: MADV_COLLAPSE (Linux 6.1) makes a huge page of a block, which
// is 2 MiB of the file at a multiple of 2 MiB. The bytes in the block stay, so neighbours may
// have a part of the block. Where that fails, and for smaller writes, the pages are small.
//
// Huge pages can also be slow. The host of a virtual machine may have taken free memory
// back, and returns it 4 KiB at a time; or the system has to move other pages away for 2 MiB
// in one piece. Then small pages are faster. So the time that huge pages take is measured:
// first one is made, and more at once only when that was fast.

const (
	hugePage = 2 << 20
	// hugeLeast is how much of a block a write must cover, up to the block's end, so that the
	// block becomes a huge page. The rest of the block belonged to somebody else, or is memory
	// that nobody has asked for.
	hugeLeast = hugePage / 4 * 3
	// hugePause is how long only small pages are used after a huge page could not be made.
	hugePause = time.Second
	// slowHugePage is the processor time for a huge page from which on small pages are
	// faster. After such a page only small pages are used, for pauseFactor times as long as
	// the page took.
	slowHugePage = 600 * time.Microsecond
	pauseFactor  = 20
	// hugeMost is how many huge pages are made at once when the one before was not slow.
	hugeMost = partSize / hugePage
	// probe is an offset in the middle of a block. It tells about the block: an object that has
	// only a small part of the block does not have this page.
	probe = hugePage / 2
)

// useHugePages makes huge pages of the blocks that a range covers, if that is possible, and
// maps them so that they can be written. The caller holds use, and nobody else writes the range.
func (m *Mapping) useHugePages(off, size uint64) {
	rw := m.writableAll()
	if rw == nil {
		return
	}
	empty := uint64(0) // bytes before block that are to become huge pages
	end := min(off+size, m.size) &^ (hugePage - 1)
	block := (off + hugeLeast - 1) &^ (hugePage - 1)
	for ; block < end; block += hugePage {
		if m.inspect(rw, block) == blockEmpty {
			empty += hugePage
			continue
		}
		m.makeHuge(rw, block-empty, empty)
		empty = 0
	}
	m.makeHuge(rw, block-empty, empty)
}

// blockState is what inspect has found out about a block.
type blockState uint8

const (
	blockMapped blockState = iota
	blockEmpty             // the block has one small page, which is needed to make it huge
	blockSmall             // the block has small pages that are best written through the descriptor
)

// inspect finds out the state of a block, and maps the block if it is a huge page already.
func (m *Mapping) inspect(rw []byte, block uint64) blockState {
	before := m.stateAt(block + probe)
	there := pageThere(rw[block+probe:])
	if there && before == pagesMapped {
		m.remember(block, hugePage, pagesMapped) // if the rest was punched out meanwhile, the copy brings it back
		return blockMapped
	}
	if !there {
		m.remember(block, hugePage, pagesUnknown)
		// Written through the descriptor: a mapped page would have to be unmapped on all cores.
		if m.paused() || m.pwrite(block+probe, []byte{0}) != nil {
			return blockSmall
		}
		return blockEmpty
	}
	if m.mapsHuge(rw, block) {
		return blockMapped
	}
	if before == pagesUnknown {
		return blockSmall // another process made the pages; they are mapped at the second write
	}
	return blockEmpty
}

// makeHuge makes blocks huge pages, as long as that is fast.
func (m *Mapping) makeHuge(rw []byte, off, size uint64) {
	if size == 0 {
		return
	}
	runtime.LockOSThread() // the thread's time is measured
	defer runtime.UnlockOSThread()
	for size > 0 && !m.paused() {
		n := min(uint64(max(1, m.hugeAtOnce.Load()))*hugePage, size)
		began := threadTime()
		err := m.collapse(rw[off : off+n])
		took := threadTime() - began
		if err == nil {
			m.remember(off, n, pagesMapped)
		} else {
			for block := off; block < off+n; block += hugePage { // most of many blocks may have become huge
				m.mapsHuge(rw, block)
			}
		}
		switch {
		case errors.Is(err, unix.EAGAIN): // somebody uses a page of a neighbour
		case err != nil:
			m.pause(errors.Is(err, unix.EINVAL) && !collapses(rw), hugePause)
		case took > time.Duration(n/hugePage)*m.slowFrom:
			m.pause(false, pauseFactor*took)
		default:
			m.hugeAtOnce.Store(hugeMost)
		}
		off, size = off+n, size-n
	}
}

// mapsHuge maps a page of a block. It reports whether that has mapped the whole block, which
// is then a huge page.
func (m *Mapping) mapsHuge(rw []byte, block uint64) bool {
	if populate(rw[block+probe:block+probe+pageSize]) != nil {
		return false
	}
	m.openMap.Do(func() { m.pagemap = openPagemap() })
	if !pageMapped(m.pagemap, rw[block+probe+pageSize:]) {
		return false
	}
	m.remember(block, hugePage, pagesMapped)
	return true
}

// pause lets only small pages be used for a while, or for ever.
func (m *Mapping) pause(forever bool, d time.Duration) {
	until := clock() + int64(d)
	if forever {
		until = math.MaxInt64
	}
	m.hugeAtOnce.Store(1)
	m.pausedUntil.Store(until)
}

func (m *Mapping) paused() bool { return clock() < m.pausedUntil.Load() }

// clockStart is the zero of clock.
var clockStart = time.Now()

// clock returns nanoseconds of a clock that nobody can set.
func clock() int64 { return int64(time.Since(clockStart)) }

// intact reports whether a range is known to be mapped, with its pages still there.
func (m *Mapping) intact(off, size uint64) bool {
	if !m.known(off, size) {
		return false
	}
	rw := m.writableMapping()
	for block := off &^ (hugePage - 1); block < off+size; block += hugePage {
		if at := block + probe; at >= off && at < off+size && !pageThere(rw[at:]) {
			return false
		}
	}
	return true
}

// known reports whether the range's pages are known to be mapped for writing.
func (m *Mapping) known(off, size uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == nil {
		return false
	}
	for i := off / granule; i < (off+size+granule-1)/granule; i++ {
		if m.state[i] != pagesMapped {
			return false
		}
	}
	return true
}
