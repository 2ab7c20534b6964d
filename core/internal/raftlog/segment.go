package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A segment is a file of the log. It begins with a header, then come records, then zeros.
//
//	 0  magic      4 bytes
//	 4  version    4 bytes
//	 8  first      8 bytes, the index of the first record
//	16  checksum   4 bytes, CRC-32C of the 16 bytes before, and 4 zeros
const (
	segmentMagic   = 0x454c5331
	segmentVersion = 1
	segmentHeader  = 24
	segmentSuffix  = ".log"

	// segmentSize is how large segments are made. A batch that does not fit gets a larger one.
	segmentSize = 2 << 20
	// maxBatch is how many bytes are written to a segment at once, and maxSegment the largest file that is read.
	maxBatch   = 32 << 20
	maxSegment = segmentHeader + maxBatch + recordHeader + maxEntry + alignment
)

// segment is an open segment.
type segment struct {
	path    string
	f       File
	first   uint64
	offsets []int64 // of the records
	end     int64   // where the next record begins
	size    int64   // of the file
}

// next returns the index of the entry that would follow.
func (s *segment) next() uint64 { return s.first + uint64(len(s.offsets)) }

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", first, segmentSuffix))
}

// segmentsIn returns the first indexes of the segments in a directory, in order.
func segmentsIn(dir string) ([]uint64, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var firsts []uint64
	for _, e := range list {
		name, is := strings.CutSuffix(e.Name(), segmentSuffix)
		if !is {
			continue
		}
		first, err := strconv.ParseUint(name, 10, 64)
		if err != nil || len(name) != 20 || first == 0 {
			return nil, damaged(filepath.Join(dir, e.Name()), 0, "a file of this name does not belong here")
		}
		firsts = append(firsts, first)
	}
	slices.Sort(firsts)
	return firsts, nil
}

func header(first uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, segmentMagic)
	b = binary.LittleEndian.AppendUint32(b, segmentVersion)
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(b, 0, 0, 0, 0)
}

// createSegment makes a segment of so many bytes.
func createSegment(d Disk, dir string, first uint64, size int) (*segment, error) {
	s := &segment{path: segmentPath(dir, first), first: first, end: segmentHeader, size: int64(size)}
	var err error
	s.f, err = d.Create(s.path, size, header(first))
	return s, err
}

// flaw is where the records of a segment stop making sense.
type flaw struct {
	at    int64
	what  string
	later bool // a batch that was written later begins behind it
}

// openSegment reads a segment. A flaw comes with the segment as it is before the flaw.
func openSegment(d Disk, dir string, first uint64) (*segment, *flaw, error) {
	s := &segment{path: segmentPath(dir, first), first: first, end: segmentHeader}
	var err error
	if s.f, err = d.Open(s.path, false); err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(io.NewSectionReader(s.f, 0, maxSegment+1))
	switch {
	case err != nil:
	case len(b) > maxSegment:
		err = damaged(s.path, maxSegment, "a segment has at most so many bytes")
	case len(b) < segmentHeader || !slices.Equal(b[:segmentHeader], header(first)):
		err = damaged(s.path, 0, "the header is not that of a segment that begins with entry %d", first)
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.f.Close())
	}
	s.size = int64(len(b))
	return s, s.scan(b), nil
}

// scan finds the records in a segment's bytes.
func (s *segment) scan(b []byte) *flaw {
	for {
		p, err := parseRecord(b[s.end:])
		switch {
		case errors.Is(err, errEnd) && zeros(b[s.end:]):
			return nil
		case errors.Is(err, errEnd):
			err = errors.New("zeros, and behind them something else")
		case err == nil && p.entry.Index != s.next():
			err = fmt.Errorf("a record of entry %d, and entry %d is due", p.entry.Index, s.next())
		}
		if err != nil {
			return &flaw{at: s.end, what: err.Error(), later: laterBatch(b[s.end:], s.next())}
		}
		s.offsets = append(s.offsets, s.end)
		s.end += int64(p.size)
	}
}

// laterBatch reports whether b holds a record of a batch that begins after the entry index. Such a batch is written only when
// the entry is on the disk.
func laterBatch(b []byte, index uint64) bool {
	for at := 0; at+recordHeader <= len(b); at += alignment {
		if binary.LittleEndian.Uint32(b[at:]) != recordMagic {
			continue
		}
		if p, err := parseRecord(b[at:]); err == nil && p.batch > index {
			return true
		}
	}
	return false
}

// read returns the record of an entry of this segment.
func (s *segment) read(index uint64) (parsed, error) {
	i := index - s.first
	at, end := s.offsets[i], s.end
	if i+1 < uint64(len(s.offsets)) {
		end = s.offsets[i+1]
	}
	b := make([]byte, end-at)
	if _, err := s.f.ReadAt(b, at); err != nil {
		return parsed{}, fmt.Errorf("read entry %d of %s: %w", index, s.path, err)
	}
	p, err := parseRecord(b)
	if err != nil {
		return parsed{}, damaged(s.path, at, "entry %d: %v", index, err)
	}
	if p.entry.Index != index {
		return parsed{}, damaged(s.path, at, "a record of entry %d, and entry %d was written here", p.entry.Index, index)
	}
	return p, nil
}

// cut makes the segment end before the byte at.
func (s *segment) cut(at int64) error {
	block := make([]byte, 64<<10)
	for from := at; from < s.size; from += int64(len(block)) {
		if _, err := s.f.WriteAt(block[:min(int64(len(block)), s.size-from)], from); err != nil {
			return err
		}
	}
	if err := s.f.Sync(); err != nil {
		return err
	}
	keep, _ := slices.BinarySearch(s.offsets, at)
	s.offsets, s.end = s.offsets[:keep], at
	return nil
}
