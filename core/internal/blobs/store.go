package blobs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/otherheads"
	"github.com/eagleray/eagleray/core/record"
)

// What the names of files end with.
const (
	whole  = ".blob"
	coming = ".coming"
)

const (
	// maxOnTheWay caps the files that no record names.
	maxOnTheWay = 1 << 30
	// grace is how long a ticket protects a value whose command does not come.
	grace = 10 * time.Minute
)

// Folder is the name of the folder of a Store in the folder of the head's state.
const Folder = "blobs"

var (
	errClosed  = errors.New("the head is ending")
	errDamaged = errors.New("it is damaged")
	errBusy    = fault.New(fault.StoreFull, "large values of %d MiB are on their way into the cluster's state already: try it again later", maxOnTheWay>>20)
)

// State is what a Store asks the state of its head.
type State interface {
	// Blobs returns the values that the state names.
	Blobs() []record.Blob
	// NamesBlob reports whether the state names a value.
	NamesBlob(record.BlobHash) bool
	// Fresh waits until the state has all that was committed before.
	Fresh(context.Context) error
}

// Options are what a Store needs of its head.
type Options struct {
	Dir    string
	Others otherheads.Others // nil: there are no other heads
	Grace  time.Duration     // 0: grace
	Log    *slog.Logger
}

// Store keeps the large values on the disk of one head.
type Store struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	inbox  inbox

	mu      sync.Mutex
	closed  bool
	state   State // nil until Follow
	have    map[record.BlobHash]uint32
	bad     map[record.BlobHash]bool // the file is there, and was found damaged
	unread  map[record.BlobHash]bool // the file is there, and the disk could not read it just now
	lost    map[record.BlobHash]bool // all other heads have said that they lack it
	tickets map[record.BlobTicket]ticket
	held    map[record.BlobHash]keeping // by tickets
	comes   map[record.BlobHash]*fetching
	places  map[uint32]chan struct{} // of conversations, by head
	gave    uint32                   // the head that has given the last value
	away    map[uint32]time.Time     // heads that have not answered are not asked before
}

// keeping is what tickets protect: a value of that size, which may still be on its way to this disk.
type keeping struct {
	tickets int
	size    uint32
}

// ticket protects a value until its command is applied.
type ticket struct {
	hash  record.BlobHash
	until time.Time
}

// inbox has what raftstate says while it holds its lock.
type inbox struct {
	mu      sync.Mutex
	tickets []record.BlobTicket
	wake    chan struct{} // buffered by one
}

// Open opens the folder, which is made if it is missing.
func Open(o Options) (*Store, error) {
	if o.Grace == 0 {
		o.Grace = grace
	}
	if o.Others == nil {
		o.Others = otherheads.Nobody{}
	}
	s := &Store{
		o: o, have: map[record.BlobHash]uint32{}, bad: map[record.BlobHash]bool{}, unread: map[record.BlobHash]bool{}, lost: map[record.BlobHash]bool{}, tickets: map[record.BlobTicket]ticket{},
		held: map[record.BlobHash]keeping{}, comes: map[record.BlobHash]*fetching{}, places: map[uint32]chan struct{}{}, away: map[uint32]time.Time{}, inbox: inbox{wake: make(chan struct{}, 1)},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.read(); err != nil {
		return nil, fmt.Errorf("the folder for large values of the cluster's state: %w", err)
	}
	return s, nil
}

// read notes which files are there, and removes those that are not whole.
func (s *Store) read() error {
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), coming) {
			if err := os.Remove(filepath.Join(s.o.Dir, e.Name())); err != nil {
				return err
			}
			continue
		}
		h, err := record.ParseBlobHash(strings.TrimSuffix(e.Name(), whole))
		if err != nil || !strings.HasSuffix(e.Name(), whole) {
			continue // nothing of ours
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if size := info.Size(); size > 0 && size <= record.MaxBlobBytes {
			s.have[h] = uint32(size)
		} else {
			s.bad[h] = true
		}
		s.protect(record.Blob{Hash: h, Size: s.have[h]}, newTicket())
	}
	return nil
}

// Close ends what is on its way.
func (s *Store) Close() {
	s.shut()
	s.work.Wait()
}

func (s *Store) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cancel()
}

// goWork runs something on a goroutine that Close waits for. It reports false when the Store is closed.
func (s *Store) goWork(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
	return !s.closed
}

func newTicket() (t record.BlobTicket) {
	if _, err := rand.Read(t[:]); err != nil {
		panic(err) // crypto/rand does not fail on Linux
	}
	return t
}

// protect keeps a value until Applied has the ticket, or the grace time is over; mu held, or nobody else has the Store.
func (s *Store) protect(b record.Blob, t record.BlobTicket) {
	if _, known := s.tickets[t]; !known {
		s.held[b.Hash] = keeping{s.held[b.Hash].tickets + 1, b.Size}
	}
	s.tickets[t] = ticket{b.Hash, time.Now().Add(s.o.Grace)}
}

// release takes a ticket back; mu held.
func (s *Store) release(t record.BlobTicket) {
	x, known := s.tickets[t]
	if !known {
		return
	}
	delete(s.tickets, t)
	k := s.held[x.hash]
	if k.tickets--; k.tickets == 0 {
		delete(s.held, x.hash)
		return
	}
	s.held[x.hash] = k
}

func (s *Store) path(h record.BlobHash) string { return filepath.Join(s.o.Dir, h.String()+whole) }

// has reports whether the file of a value is there with the right size.
func (s *Store) has(b record.Blob) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.have[b.Hash] == b.Size && !s.bad[b.Hash]
}

// begin notes that a value comes, and refuses it when too much is on its way.
func (s *Store) begin(x record.HeldBlob) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	_, again := s.have[x.Blob.Hash]
	if again = again || s.held[x.Blob.Hash].tickets > 0; !again && s.onTheWay()+int64(x.Blob.Size) > maxOnTheWay {
		return errBusy
	}
	s.protect(x.Blob, x.Ticket)
	return nil
}

// onTheWay returns the bytes of values that only tickets keep, on the disk or still on their way to it; mu held. Only values with tickets are looked at: there are few.
func (s *Store) onTheWay() (sum int64) {
	for h, k := range s.held {
		if s.state == nil || !s.state.NamesBlob(h) {
			sum += int64(k.size)
		}
	}
	return sum
}

// drop takes a ticket back.
func (s *Store) drop(t record.BlobTicket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(t)
}

// install writes the file of a value. Write gives its bytes, whose hash is compared. It returns when the file is on the disk under its name.
func (s *Store) install(b record.Blob, write func(io.Writer) error) error {
	if err := s.room(b); err != nil {
		return s.diskError(b, err)
	}
	f, err := os.CreateTemp(s.o.Dir, "*"+coming)
	if err != nil {
		return s.diskError(b, err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	sum := sha256.New()
	if err := write(io.MultiWriter(f, sum)); err != nil {
		return s.diskError(b, err)
	}
	if [sha256.Size]byte(sum.Sum(nil)) != b.Hash {
		return fmt.Errorf("what came is not %s: its hash is another one", b)
	}
	if err := f.Sync(); err != nil {
		return s.diskError(b, err)
	}
	if err := os.Rename(f.Name(), s.path(b.Hash)); err != nil {
		return s.diskError(b, err)
	}
	if err := s.syncFolder(); err != nil {
		return s.diskError(b, err)
	}
	s.installed(b)
	return nil
}

func (s *Store) installed(b record.Blob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have[b.Hash] = b.Size
	delete(s.bad, b.Hash)
	delete(s.unread, b.Hash)
	delete(s.lost, b.Hash)
}

func (s *Store) syncFolder() error {
	folder, err := os.Open(s.o.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// spare is what a value leaves free on the disk: the log of the state, which is on the same one, has to go on.
const spare = 8 << 20

// room returns an error if a value would fill the disk.
func (s *Store) room(b record.Blob) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.o.Dir, &disk); err != nil {
		return fmt.Errorf("the free room on the disk of %s: %w", s.o.Dir, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < uint64(b.Size)+spare {
		return fmt.Errorf("%d bytes are free: %w", free, syscall.ENOSPC)
	}
	return nil
}

// diskError gives an error of the disk a code, so that a program sees that the disk of a head is full.
func (s *Store) diskError(b record.Blob, err error) error {
	var disk *fs.PathError
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		s.o.Log.Error("a large value of the cluster's state does not fit on the disk", "value", b.Hash, "bytes", b.Size, "folder", s.o.Dir, "error", err)
		return fault.New(fault.OutOfDisk, "%s cannot be kept, since the disk is full on which a head has its state: make room on that disk, which the log of the head names", b)
	case errors.As(err, &disk):
		return fmt.Errorf("keep %s: %w", b, err)
	}
	return err
}

// load reads a value that is here, and compares its hash.
func (s *Store) load(b record.Blob) ([]byte, error) {
	f, err := os.Open(s.path(b.Hash))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, int(b.Size)+1) // one more byte than there may be
	n, err := io.ReadFull(f, data)
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		if n == int(b.Size) && sha256.Sum256(data[:n]) == b.Hash {
			return data[:n], nil
		}
		err = fmt.Errorf("the file %s: %w", f.Name(), errDamaged)
	}
	return nil, err
}

// gone reports whether an error of local says that this head does not have the value. Any other error may be one of a moment, as when the process has too many
// open files.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) }

// local reads a value from this head's disk. What is damaged, gone or cannot be read is noted, so that it is got anew.
func (s *Store) local(b record.Blob) ([]byte, error) {
	data, err := s.load(b)
	if err == nil {
		s.wasRead(b.Hash)
		return data, nil
	}
	if missing := errors.Is(err, fs.ErrNotExist); !s.broken(b.Hash, err) && !missing {
		s.o.Log.Error("a large value of the cluster's state cannot be read; it is got from another head", "value", b.Hash, "error", err)
	}
	return nil, err
}

// broken notes that a file cannot be used, and why. It reports whether that was known.
func (s *Store) broken(h record.BlobHash, why error) (known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := errors.Is(why, fs.ErrNotExist)
	known = s.bad[h] || s.unread[h]
	if !known || missing {
		s.poke()
	}
	switch {
	case missing:
		delete(s.have, h)
		delete(s.bad, h)
		delete(s.unread, h)
	case errors.Is(why, errDamaged):
		s.bad[h] = true
		delete(s.unread, h)
	default:
		s.unread[h] = true
	}
	return known
}

// wasRead notes that a file can be read.
func (s *Store) wasRead(h record.BlobHash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unread, h)
}

// Check reads the value from a folder while no head runs, and says what is wrong.
func Check(dir string, b record.Blob) error {
	_, err := (&Store{o: Options{Dir: dir}}).load(b)
	return err
}
