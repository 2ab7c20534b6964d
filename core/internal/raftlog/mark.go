package raftlog

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"path/filepath"
)

// A mark says up to which entry the log was acknowledged. It is written after each commit, and not synced: so it
// outlives the process always, and a power cut perhaps only as it was some seconds before. It never says too much.
// With it, a record that is gone or damaged is known to be the tail of a write that nobody was told of, or not to be.
//
// While entries are deleted at the end of the log, which is rare, the mark says from which one on. It is synced then, before and after.
//
//	 0  magic         4 bytes
//	 4  checksum      4 bytes, CRC-32C of the bytes behind
//	 8  acknowledged  8 bytes
//	16  deleting      8 bytes, 0 for nothing
const (
	markName  = "acknowledged"
	markMagic = 0x454c4d31
	markSize  = 24
)

type mark struct{ f File }

// marked is what a mark says. It is zero when the mark is new, or not readable after a power cut.
type marked struct{ acknowledged, deleting uint64 }

func openMark(d Disk, dir string) (mark, marked, error) {
	f, err := d.Open(filepath.Join(dir, markName), true)
	if err != nil {
		return mark{}, marked{}, err
	}
	var b [markSize]byte
	if n, err := f.ReadAt(b[:], 0); n < markSize {
		if err == io.EOF {
			return mark{f}, marked{}, nil
		}
		return mark{}, marked{}, joined(err, f.Close())
	}
	if binary.LittleEndian.Uint32(b[:]) != markMagic || binary.LittleEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], castagnoli) {
		return mark{f}, marked{}, nil
	}
	return mark{f}, marked{binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}, nil
}

// set changes the mark.
func (m mark) set(to marked) error {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, markSize), markMagic)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, to.acknowledged)
	b = binary.LittleEndian.AppendUint64(b, to.deleting)
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	_, err := m.f.WriteAt(b, 0)
	return err
}

// setSynced changes the mark, and returns when that is on the disk.
func (m mark) setSynced(to marked) error {
	if err := m.set(to); err != nil {
		return err
	}
	return m.f.Sync()
}
