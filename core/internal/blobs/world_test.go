package blobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/otherheads"
	"github.com/eagleray/eagleray/core/record"
)

const patience = 60 * time.Second

// world is heads that reach each other, and what their states name.
type world struct {
	t     *testing.T
	mu    sync.Mutex
	heads map[uint32]*playedHead
	down  map[uint32]bool
	cut   func(from, to uint32, c net.Conn) net.Conn // nil: connections are as they are
}

// playedHead is a head with its Store, and its state.
type playedHead struct {
	*Store
	w      *world
	number uint32
	dir    string
	end    func()

	mu    sync.Mutex
	named map[record.BlobHash]record.Blob
	stale bool // no fresh read succeeds
}

// newWorld starts heads 1 to n, all with a vote.
func newWorld(t *testing.T, n int) *world {
	t.Helper()
	w := &world{t: t, heads: map[uint32]*playedHead{}, down: map[uint32]bool{}}
	for i := range uint32(n) {
		w.heads[i+1] = &playedHead{w: w, number: i + 1, dir: t.TempDir(), named: map[record.BlobHash]record.Blob{}, end: func() {}}
	}
	for i := range uint32(n) {
		w.start(i+1, 0)
	}
	t.Cleanup(func() {
		for _, h := range w.heads {
			h.end()
		}
	})
	return w
}

// start starts a head, again if it runs.
func (w *world) start(number uint32, grace time.Duration) *playedHead {
	w.t.Helper()
	h := w.heads[number]
	h.end()
	s, err := Open(Options{Dir: h.dir, Others: h, Grace: grace, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		w.t.Fatal(err)
	}
	w.set(func() { h.Store = s })
	s.Begin(h)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { s.Follow(ctx) })
	h.end = func() {
		cancel()
		work.Wait()
		s.Close()
	}
	return h
}

func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// name has the states of all heads name a value, as an applied command does.
func (w *world) name(x record.HeldBlob) {
	for _, h := range w.heads {
		h.name(x)
	}
}

func (h *playedHead) name(x record.HeldBlob) {
	h.mu.Lock()
	h.named[x.Blob.Hash] = x.Blob
	h.mu.Unlock()
	h.Applied(x.Ticket)
}

func (h *playedHead) unname(b record.Blob) {
	h.mu.Lock()
	delete(h.named, b.Hash)
	h.mu.Unlock()
	h.Applied()
}

func (h *playedHead) Blobs() (list []record.Blob) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.named {
		list = append(list, b)
	}
	return list
}

func (h *playedHead) NamesBlob(x record.BlobHash) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, named := h.named[x]
	return named
}

func (h *playedHead) Fresh(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stale {
		return errors.New("no majority")
	}
	return nil
}

func (h *playedHead) Heads() (list []otherheads.Head, votes bool) {
	for _, n := range slices.Sorted(maps.Keys(h.w.heads)) { // in this order they are asked
		if n != h.number {
			list = append(list, otherheads.Head{Number: n, Voter: true})
		}
	}
	return list, true
}

func (h *playedHead) Majority() int            { return len(h.w.heads)/2 + 1 }
func (h *playedHead) Has(number uint32) bool   { return number != h.number && h.w.heads[number] != nil }
func (h *playedHead) Changed() <-chan struct{} { return nil }

// way returns the store of a head that is dialed, nil when it cannot be reached, and what is done to the connection.
func (w *world) way(from, to uint32) (s *Store, cut func(from, to uint32, c net.Conn) net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.down[from] && !w.down[to] {
		s = w.heads[to].Store
	}
	return s, w.cut
}

func (h *playedHead) Dial(_ context.Context, number uint32) (net.Conn, error) {
	s, cut := h.w.way(h.number, number)
	if s == nil {
		return nil, errors.New("it does not run")
	}
	here, there := net.Pipe()
	if cut != nil {
		here = cut(h.number, number, here)
	}
	go func() {
		defer there.Close()
		s.Serve(h.number, there)
	}()
	return here, nil
}

func (h *playedHead) file(b record.Blob) string { return filepath.Join(h.dir, b.Hash.String()+whole) }

func (h *playedHead) hasFile(b record.Blob) bool {
	_, err := os.Stat(h.file(b))
	return err == nil
}

// flip changes one byte of a file.
func (h *playedHead) flip(b record.Blob) {
	h.w.t.Helper()
	data, err := os.ReadFile(h.file(b))
	if err == nil {
		data[len(data)/2] ^= 1
		err = os.WriteFile(h.file(b), data, 0o600)
	}
	if err != nil {
		h.w.t.Fatal(err)
	}
}

func (w *world) until(what string, f func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("after %v it is not so that %s", patience, what)
		}
	}
}

func (w *world) put(number uint32, data []byte) record.HeldBlob {
	w.t.Helper()
	x, err := w.heads[number].Put(w.t.Context(), data)
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

func (w *world) gets(number uint32, b record.Blob, want []byte) {
	w.t.Helper()
	got, err := w.heads[number].Get(w.t.Context(), b)
	if err != nil || !bytes.Equal(got, want) {
		w.t.Fatalf("head %d gets %d bytes, %v", number, len(got), err)
	}
}

func valueOf(seed byte, size int) []byte {
	b := bytes.Repeat([]byte{seed}, size)
	b[0] = seed + 1
	return b
}
