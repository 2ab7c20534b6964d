package histories

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/internal/raftlog"
)

// frailDisk has the log of one life of a member. When the member dies, nothing is written any more, and what was not synced may be
// lost.
type frailDisk struct {
	mu       sync.Mutex
	dead     bool
	unsynced map[string][]write // by path, in order
}

// write is a write that was not synced: what was there before.
type write struct {
	at     int64
	before []byte
}

type frailFile struct {
	d    *frailDisk
	path string
	f    *os.File
}

var errDead = errors.New("the member is dead")

func newFrailDisk() *frailDisk { return &frailDisk{unsynced: map[string][]write{}} }

// alive does something unless the member is dead.
func (d *frailDisk) alive(do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDead
	}
	return do()
}

func (d *frailDisk) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *frailDisk) Create(path string, size int, head []byte) (raftlog.File, error) {
	err := d.alive(func() error { return os.WriteFile(path, append(head, make([]byte, size-len(head))...), 0o600) })
	if err != nil {
		return nil, err
	}
	return d.Open(path, false)
}

func (d *frailDisk) Open(path string, create bool) (raftlog.File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return &frailFile{d, path, f}, nil
}

func (d *frailDisk) Remove(_ string, paths []string) error {
	return d.alive(func() error {
		for _, p := range paths {
			if err := os.Remove(p); err != nil {
				return err
			}
			delete(d.unsynced, p)
		}
		return nil
	})
}

func (f *frailFile) ReadAt(b []byte, at int64) (int, error) { return f.f.ReadAt(b, at) }
func (f *frailFile) Close() error                           { return f.f.Close() }

func (f *frailFile) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.d.alive(func() error {
		before := make([]byte, len(b))
		k, _ := f.f.ReadAt(before, at) // nothing behind the end of the file
		f.d.unsynced[f.path] = append(f.d.unsynced[f.path], write{at, before[:k]})
		n, err = f.f.WriteAt(b, at)
		return err
	})
	return n, err
}

func (f *frailFile) Sync() error {
	return f.d.alive(func() error {
		delete(f.d.unsynced, f.path)
		return nil
	})
}

// lose makes the files as they may be after a power cut: of each file the unsynced writes are there, or not, or the last one is torn.
func (d *frailDisk) lose(die *rand.Rand) error {
	const sector = 512
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, writes := range d.unsynced {
		how := die.IntN(3)
		if how == 0 {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		for i := len(writes) - 1; i >= 0; i-- {
			w := writes[i]
			for at := 0; at < len(w.before) && err == nil; at += sector {
				if how == 1 || die.IntN(2) == 0 {
					_, err = f.WriteAt(w.before[at:min(at+sector, len(w.before))], w.at+int64(at))
				}
			}
			if how == 2 {
				break
			}
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	clear(d.unsynced)
	return nil
}

// slowLog is a log whose disk takes its time. It sleeps without a lock of the log.
type slowLog struct {
	raft.LogStore
	net   *network
	mu    sync.Mutex
	stall time.Duration
}

func (l *slowLog) IsMonotonic() bool { return true }

func (l *slowLog) stalls(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stall = d
}

func (l *slowLog) wait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stall
}

func (l *slowLog) StoreLog(e *raft.Log) error { return l.StoreLogs([]*raft.Log{e}) }

func (l *slowLog) StoreLogs(entries []*raft.Log) error {
	var late time.Duration
	l.net.roll(func(die *rand.Rand) { late = time.Duration(die.Int64N(int64(time.Millisecond))) })
	time.Sleep(late + l.wait())
	err := l.LogStore.StoreLogs(entries)
	time.Sleep(late)
	return err
}
