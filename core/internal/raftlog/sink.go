package raftlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"
)

// sink is a snapshot that is being written.
type sink struct {
	s     *Snapshots
	meta  raft.SnapshotMeta
	f     *os.File
	w     *bufio.Writer
	sum   hash.Hash32
	image uint64
	ended bool
	err   error
}

// Create implements raft.SnapshotStore.
func (s *Snapshots) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, cIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	meta, err := msgpack.Marshal(&snapshotMeta{int(version), index, term, c.Servers, cIndex})
	if err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	if len(meta) > maxMeta {
		return nil, fmt.Errorf("write a snapshot: what raft says about it has %d bytes, and at most %d are allowed", len(meta), maxMeta)
	}
	k := &sink{s: s, sum: crc32.New(castagnoli), meta: raft.SnapshotMeta{
		Version: version, ID: idOf(term, index), Index: index, Term: term, Configuration: c, ConfigurationIndex: cIndex,
	}}
	if k.f, err = os.OpenFile(s.path(k.meta.ID)+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_CLOEXEC, 0o600); err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	k.w = bufio.NewWriterSize(k.f, 64<<10)
	head := binary.LittleEndian.AppendUint32(nil, snapshotMagic)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(meta)))
	if err := k.put(append(head, meta...)); err != nil {
		return nil, errors.Join(fmt.Errorf("write a snapshot: %w", err), k.Cancel())
	}
	return k, nil
}

func (k *sink) put(b []byte) error {
	_, _ = k.sum.Write(b) // a hash takes everything
	_, err := k.w.Write(b)
	return err
}

// Write implements raft.SnapshotSink.
func (k *sink) Write(b []byte) (int, error) {
	if err := k.put(b); err != nil {
		return 0, err
	}
	k.image += uint64(len(b))
	return len(b), nil
}

// ID implements raft.SnapshotSink.
func (k *sink) ID() string { return k.meta.ID }

// Cancel implements raft.SnapshotSink.
func (k *sink) Cancel() error {
	if k.ended {
		return k.err
	}
	k.ended = true
	k.err = errors.New("the snapshot was given up")
	return errors.Join(k.f.Close(), os.Remove(k.f.Name()))
}

// Close implements raft.SnapshotSink: the snapshot is the newest from now on. raft calls it twice.
func (k *sink) Close() error {
	if k.ended {
		return k.err
	}
	k.ended = true
	if err := k.finish(); err != nil {
		_ = os.Remove(k.f.Name())
		k.err = fmt.Errorf("write the snapshot %s: %w", k.s.path(k.meta.ID), err)
	}
	return k.err
}

func (k *sink) finish() error {
	err := k.put(binary.LittleEndian.AppendUint64(nil, k.image))
	trailer := binary.LittleEndian.AppendUint32(nil, k.sum.Sum32())
	if err == nil {
		_, err = k.w.Write(binary.LittleEndian.AppendUint32(trailer, snapshotMagic))
	}
	if err == nil {
		err = k.w.Flush()
	}
	if err == nil {
		err = k.f.Sync()
	}
	if e := k.f.Close(); err == nil {
		err = e
	}
	path := k.s.path(k.meta.ID)
	if err == nil {
		err = os.Rename(k.f.Name(), path)
	}
	if err == nil {
		err = syncDir(k.s.dir)
	}
	if err != nil {
		return err
	}
	k.meta.Size = int64(k.image)
	return k.s.add(k.meta)
}

// add enters a snapshot and removes those that are too many.
func (s *Snapshots) add(m raft.SnapshotMeta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(o raft.SnapshotMeta) bool { return o.ID == m.ID })
	s.list = append(s.list, m)
	slices.SortFunc(s.list, newestFirst)
	for len(s.list) > keptSnapshots {
		old := s.list[len(s.list)-1]
		if err := os.Remove(s.path(old.ID)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		s.list = s.list[:len(s.list)-1]
	}
	return nil
}

// aside keeps a damaged snapshot for whoever wants to look at it, and only the last one.
func (s *Snapshots) aside(id string) error {
	old, err := filepath.Glob(filepath.Join(s.dir, "*"+damagedSuffix))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.Rename(s.path(id), strings.TrimSuffix(s.path(id), snapshotSuffix)+damagedSuffix)
}
