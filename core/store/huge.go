package store

import (
	"errors"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// What a first write costs is that its pages have to be made, which is several times
// faster 2 MiB at a time. Most systems give shared memory huge pages only when one asks
// for each: a block, which is so much of the file at a multiple of that, is made one by
// MADV_COLLAPSE (Linux 6.1). What is in it stays, so it does not matter that neighbours
// have a part of it. Where that fails, pages are small, as for what is smaller.
//
// Huge pages can be dear, too: a virtual machine's host may have taken back what was
// free and brings it again 4 KiB at a time, or the system moves other pages away to have
// 2 MiB in one piece. Then it takes longer than small pages, which are found among what is
// left over. So what they cost is watched: of the first only one is made, then more.

const (
	hugePage = 2 << 20
	// claimLeast is how much of a block a write has to cover, and its end: what lies before
	// was somebody else's, or is memory that nobody asked for.
	claimLeast = hugePage / 4 * 3
	// claimPause is how long small pages do after huge ones could not be had.
	claimPause = time.Second
	// dearPage is the processor's time for a huge page from which on small ones are cheaper;
	// then there are none for pauseTimes as long as that took.
	dearPage   = 600 * time.Microsecond
	pauseTimes = 20
	// claimMost is how many huge pages are made at once when the one before was not dear.
	claimMost = partSize / hugePage
	// probe lies in the middle of a block: who had a part of it, but not most, had not this.
	probe = hugePage / 2
)

// claim sees to it that the blocks which a range covers are mapped to be written as huge
// pages, if they can be. The caller holds use, and is the only one to write the range.
func (m *Mapping) claim(off, size uint64) {
	rw := m.writableAll()
	if rw == nil {
		return
	}
	empty := uint64(0) // bytes before block that are to become huge pages
	end := min(off+size, m.size) &^ (hugePage - 1)
	block := (off + claimLeast - 1) &^ (hugePage - 1)
	for ; block < end; block += hugePage {
		if m.look(rw, block) == blockEmpty {
			empty += hugePage
			continue
		}
		m.makeHuge(rw, block-empty, empty)
		empty = 0
	}
	m.makeHuge(rw, block-empty, empty)
}

// blockState is what became of a block that look has looked at.
type blockState uint8

const (
	blockMapped blockState = iota
	blockEmpty             // there is one small page, which making it huge needs
	blockSmall             // it has small pages that are best written through the descriptor
)

// look finds out what a block is, and maps it if it is a huge page already.
func (m *Mapping) look(rw []byte, block uint64) blockState {
	m.mu.Lock()
	before := m.state[(block+probe)/granule]
	m.mu.Unlock()
	there := pageThere(rw[block+probe:])
	if there && before == pagesMapped {
		m.note(block, hugePage, pagesMapped) // the rest may have been punched out meanwhile: the copy finds out
		return blockMapped
	}
	if !there {
		m.note(block, hugePage, pagesUnknown)
		// Through the descriptor: a page that is mapped would have to be unmapped on all cores.
		if m.pausing() || m.pwrite(block+probe, []byte{0}) != nil {
			return blockSmall
		}
		return blockEmpty
	}
	if m.mapsHuge(rw, block) {
		return blockMapped
	}
	if before == pagesUnknown {
		return blockSmall // others' pages, for the first time; the second time they are worth more
	}
	return blockEmpty
}

// makeHuge makes blocks huge pages, as long as they are not dear.
func (m *Mapping) makeHuge(rw []byte, off, size uint64) {
	if size == 0 {
		return
	}
	runtime.LockOSThread() // its time is looked at
	defer runtime.UnlockOSThread()
	for size > 0 && !m.pausing() {
		n := min(uint64(max(1, m.atOnce.Load()))*hugePage, size)
		began := threadTime()
		err := m.collapse(rw[off : off+n])
		took := threadTime() - began
		if err == nil {
			m.note(off, n, pagesMapped)
		} else {
			for block := off; block < off+n; block += hugePage { // of many, most may have become huge
				m.mapsHuge(rw, block)
			}
		}
		switch {
		case errors.Is(err, unix.EAGAIN): // somebody looks at a neighbour's page
		case err != nil:
			m.pause(errors.Is(err, unix.EINVAL) && !collapses(rw), claimPause)
		case took > time.Duration(n/hugePage)*m.dear:
			m.pause(false, pauseTimes*took)
		default:
			m.atOnce.Store(claimMost)
		}
		off, size = off+n, size-n
	}
}

// mapsHuge maps a page of a block, and reports whether that has mapped the whole block.
func (m *Mapping) mapsHuge(rw []byte, block uint64) bool {
	if populate(rw[block+probe:block+probe+pageSize]) != nil {
		return false
	}
	m.openMap.Do(func() { m.pagemap = openPagemap() })
	if !pageMapped(m.pagemap, rw[block+probe+pageSize:]) {
		return false
	}
	m.note(block, hugePage, pagesMapped)
	return true
}

// pause lets small pages do for a while, or forever.
func (m *Mapping) pause(forever bool, d time.Duration) {
	until := time.Now().Add(d).UnixNano()
	if forever {
		until = math.MaxInt64
	}
	m.atOnce.Store(1)
	m.barren.Store(until)
}

func (m *Mapping) pausing() bool { return time.Now().UnixNano() < m.barren.Load() }

// intact reports whether a range is known to be mapped and its pages are still there.
func (m *Mapping) intact(off, size uint64) bool {
	if !m.known(off, size) {
		return false
	}
	m.mu.Lock()
	rw := m.rw
	m.mu.Unlock()
	for block := off &^ (hugePage - 1); block < off+size; block += hugePage {
		if at := block + probe; at >= off && at < off+size && !pageThere(rw[at:]) {
			return false
		}
	}
	return true
}

// known reports whether the range's pages are mapped to be written.
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
