package raftlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/raft"
	"github.com/vmihailenco/msgpack/v5"
)

// A snapshot is a file: a header, what raft says about it (meta), the state's image, and a trailer. raftstate compresses
// the image with zstd.
//
//	 0  magic      4 bytes
//	 4  length     4 bytes, of meta
//	 8  meta       msgpack
//	    image
//	-16 length     8 bytes, of the image
//	-8  checksum   4 bytes, CRC-32C of all that is before
//	-4  magic      4 bytes
const (
	snapshotMagic   = 0x454c4931
	snapshotSuffix  = ".snapshot"
	damagedSuffix   = ".damaged"
	snapshotTrailer = 16
	maxMeta         = 64 << 10
	// keptSnapshots is how many snapshots there are. The log keeps the entries after the oldest one, so nothing is lost
	// when the newest one cannot be read.
	keptSnapshots = 2
)

// Snapshots keeps raft's snapshots. It is a raft.SnapshotStore.
type Snapshots struct {
	dir string

	mu   sync.Mutex
	list []raft.SnapshotMeta // newest first
}

// snapshotMeta is what a file says about itself.
type snapshotMeta struct {
	Version            int           `msgpack:"version"`
	Index              uint64        `msgpack:"index"`
	Term               uint64        `msgpack:"term"`
	Servers            []raft.Server `msgpack:"servers"`
	ConfigurationIndex uint64        `msgpack:"configuration"`
}

// openSnapshots checks every snapshot as a whole. A damaged one is put aside, and its error is in bad. Whether the state can
// do without it is the caller's to say.
func openSnapshots(dir string) (s *Snapshots, bad []badSnapshot, err error) {
	s = &Snapshots{dir: dir}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		id, is := strings.CutSuffix(f.Name(), snapshotSuffix)
		if !is {
			continue
		}
		m, err := s.check(id)
		switch {
		case errors.Is(err, ErrDamaged):
			bad = append(bad, badSnapshot{id, indexOf(id), err})
		case err != nil:
			return nil, nil, err
		default:
			s.list = append(s.list, m)
		}
	}
	slices.SortFunc(s.list, newestFirst)
	return s, bad, nil
}

// badSnapshot is a snapshot that cannot be read.
type badSnapshot struct {
	id    string
	index uint64 // as the name says; 0 if it says nothing
	err   error
}

func newestFirst(a, b raft.SnapshotMeta) int { return strings.Compare(b.ID, a.ID) }

// idOf names a snapshot so that the names sort as the snapshots do.
func idOf(term, index uint64) string { return fmt.Sprintf("%020d-%020d", term, index) }

func indexOf(id string) (index uint64) {
	var term uint64
	_, _ = fmt.Sscanf(id, "%d-%d", &term, &index) // another name: 0
	return index
}

func (s *Snapshots) path(id string) string { return filepath.Join(s.dir, id+snapshotSuffix) }

// check reads a whole snapshot.
func (s *Snapshots) check(id string) (raft.SnapshotMeta, error) {
	f, m, err := s.openChecked(id)
	if err != nil {
		return m, err
	}
	return m, f.Close()
}

// imageFile is a snapshot that is open at its image.
type imageFile struct {
	io.Reader
	f *os.File
}

func (i imageFile) Close() error { return i.f.Close() }

// openChecked opens a snapshot whose checksum is right.
func (s *Snapshots) openChecked(id string) (r io.ReadCloser, m raft.SnapshotMeta, err error) {
	f, err := os.Open(s.path(id))
	if err != nil {
		return nil, m, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, m, err
	}
	size := info.Size()
	var head [8]byte
	var tail [snapshotTrailer]byte
	if size < int64(len(head)+len(tail)) {
		return nil, m, damaged(s.path(id), size, "the file ends too early")
	}
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, m, err
	}
	if _, err := f.ReadAt(tail[:], size-snapshotTrailer); err != nil {
		return nil, m, err
	}
	meta, image := int64(binary.LittleEndian.Uint32(head[4:])), binary.LittleEndian.Uint64(tail[:])
	if binary.LittleEndian.Uint32(head[:]) != snapshotMagic || binary.LittleEndian.Uint32(tail[12:]) != snapshotMagic ||
		meta > maxMeta || int64(image) != size-int64(len(head))-meta-snapshotTrailer || int64(image) < 0 {
		return nil, m, damaged(s.path(id), 0, "the header and the end of the file do not fit each other")
	}
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, size-8)); err != nil {
		return nil, m, fmt.Errorf("read %s: %w", s.path(id), err)
	}
	if have, want := sum.Sum32(), binary.LittleEndian.Uint32(tail[8:]); have != want {
		return nil, m, damaged(s.path(id), size-8, "the checksum is %#x, and that of the bytes before is %#x", want, have)
	}
	text := make([]byte, meta)
	if _, err := f.ReadAt(text, int64(len(head))); err != nil {
		return nil, m, err
	}
	var sm snapshotMeta
	if err := msgpack.Unmarshal(text, &sm); err != nil || idOf(sm.Term, sm.Index) != id {
		return nil, m, damaged(s.path(id), int64(len(head)), "this is not the snapshot of that name: it is that of entry %d in term %d (%v)", sm.Index, sm.Term, err)
	}
	m = raft.SnapshotMeta{
		Version: raft.SnapshotVersion(sm.Version), ID: id, Index: sm.Index, Term: sm.Term,
		Configuration: raft.Configuration{Servers: sm.Servers}, ConfigurationIndex: sm.ConfigurationIndex, Size: int64(image),
	}
	return imageFile{bufio.NewReader(io.NewSectionReader(f, int64(len(head))+meta, int64(image))), f}, m, nil
}

// List implements raft.SnapshotStore.
func (s *Snapshots) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*raft.SnapshotMeta
	for _, m := range s.list {
		list = append(list, &m)
	}
	return list, nil
}

// Open implements raft.SnapshotStore. The whole file is checked first.
func (s *Snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	r, m, err := s.openChecked(id)
	if err != nil {
		return nil, nil, err
	}
	return &m, r, nil
}

// oldest returns the index of the oldest snapshot while there are as many as are kept, else 0.
func (s *Snapshots) oldest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < keptSnapshots {
		return 0
	}
	return s.list[len(s.list)-1].Index
}
