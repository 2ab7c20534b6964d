package raftlog

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
)

// recorder is a disk that notes what was written, so that a test can make the files as they may be after a power cut:
// what was synced is there, and of all other writes any sectors, or none.
type recorder struct {
	realDisk
	ops []op
}

type op struct {
	kind string // "create", "write", "sync", "remove" or "acknowledged"
	path string
	at   int64
	data []byte
}

type recorded struct {
	File
	r    *recorder
	path string
}

func (r *recorder) note(kind, path string, at int64, data []byte) {
	r.ops = append(r.ops, op{kind, path, at, slices.Clone(data)})
}

func (r *recorder) Create(path string, size int, head []byte) (File, error) {
	f, err := r.realDisk.Create(path, size, head)
	r.note("create", path, 0, append(slices.Clone(head), make([]byte, size-len(head))...))
	return &recorded{f, r, path}, err
}

func (r *recorder) Open(path string, create bool) (File, error) {
	f, err := r.realDisk.Open(path, create)
	return &recorded{f, r, path}, err
}

func (r *recorder) Remove(dir string, paths []string) error {
	for _, p := range paths {
		r.note("remove", p, 0, nil)
	}
	return r.realDisk.Remove(dir, paths)
}

func (f *recorded) WriteAt(b []byte, at int64) (int, error) {
	f.r.note("write", f.path, at, b)
	return f.File.WriteAt(b, at)
}

func (f *recorded) Sync() error {
	err := f.File.Sync()
	f.r.note("sync", f.path, 0, nil)
	return err
}

const sector = 512

// after returns the files as they may be when the power is cut after n operations.
func (r *recorder) after(n int, die *rand.Rand) map[string][]byte {
	synced, now := map[string][]byte{}, map[string][]byte{}
	for _, o := range r.ops[:n] {
		switch o.kind {
		case "create":
			synced[o.path], now[o.path] = slices.Clone(o.data), slices.Clone(o.data)
		case "remove":
			delete(synced, o.path)
			delete(now, o.path)
		case "sync":
			synced[o.path] = slices.Clone(now[o.path])
		case "write":
			b := now[o.path]
			if grow := int(o.at) + len(o.data) - len(b); grow > 0 {
				b = append(b, make([]byte, grow)...)
			}
			copy(b[o.at:], o.data)
			now[o.path] = b
		}
	}
	for path, b := range now { // the kernel may have written any sectors of its own accord
		s := synced[path]
		if len(s) < len(b) && die.IntN(2) == 0 {
			s = append(s, make([]byte, len(b)-len(s))...)
		}
		all := die.IntN(3)
		for at := 0; at < len(s); at += sector {
			if end := min(at+sector, len(s)); all == 0 || all == 1 && die.IntN(2) == 0 {
				copy(s[at:end], b[at:end])
			}
		}
		synced[path] = s
	}
	return synced
}

// Whenever the power is cut, everything acknowledged is there, and nothing is there that was not stored.
func TestLog_PowerCutAnywhere_NothingAcknowledgedIsLost(t *testing.T) {
	for seed := range uint64(20) {
		die := rand.New(rand.NewPCG(seed, 2))
		r := &recorder{}
		o := small
		o.Disk = r
		d := open(t, t.TempDir(), o)
		type state struct {
			ops  int
			sure []*raft.Log // acknowledged
			next []*raft.Log // as it may be already, before the next state
		}
		var list []*raft.Log
		states := []state{{}}
		next := uint64(1)
		for range 30 {
			before := list
			if die.IntN(8) == 0 && len(list) > 3 { // another leader had other entries
				n := 1 + die.IntN(len(list)-1)
				states[len(states)-1].next = before
				if err := d.log.DeleteRange(list[n].Index, list[len(list)-1].Index); err != nil {
					t.Fatal(err)
				}
				next, list = list[n].Index, slices.Clone(list[:n])
			} else {
				batch := entries(next, next+uint64(die.IntN(5)), seed+next)
				list = append(slices.Clone(list), batch...)
				states[len(states)-1].next = list
				store(t, d.log, batch)
				next += uint64(len(batch))
			}
			states = append(states, state{ops: len(r.ops), sure: list, next: list})
			if len(list) < len(before) {
				states[len(states)-2].sure = list // while it is deleted, the rest may be there or not
			}
		}
		closed(t, d)
		for range 40 {
			n := die.IntN(len(r.ops) + 1)
			i, _ := slices.BinarySearchFunc(states, n, func(s state, n int) int {
				if s.ops <= n {
					return -1
				}
				return 1
			})
			s := states[i-1]
			if err := opensAs(t, d.path, r.after(n, die), s.sure, s.next); err != nil {
				t.Fatalf("seed %d, power cut after operation %d of %d: %v", seed, n, len(r.ops), err)
			}
		}
	}
}

// opensAs opens a log of these files. It must have sure, and nothing but next.
func opensAs(t *testing.T, old string, files map[string][]byte, sure, next []*raft.Log) error {
	dir := filepath.Join(t.TempDir(), logName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for path, b := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o600); err != nil {
			return err
		}
	}
	o := small
	o.Disk = realDisk{}
	l, _, err := openLog(dir, o, newGuard(old))
	if err != nil {
		return err
	}
	defer func() { _ = l.close() }()
	n := int(l.last())
	if n < len(sure) || n > len(next) {
		return fmt.Errorf("the log has %d entries, want %d to %d", n, len(sure), len(next))
	}
	return holds(l, next[:n])
}
