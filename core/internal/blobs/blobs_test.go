package blobs

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/record"
)

// When Put has returned, a majority has the file on the disk, and so a head that lives.
func TestPut_SeveralHeads_AMajorityHasTheFile(t *testing.T) {
	w := newWorld(t, 3)
	want := valueOf(1, 3<<20)
	x := w.put(1, want)
	n := 0
	for _, h := range w.heads {
		if h.hasFile(x.Blob) {
			n++
		}
	}
	if n < 2 {
		t.Errorf("%d of 3 heads have the file", n)
	}
	w.name(x)
	for number := range w.heads {
		w.gets(number, x.Blob, want)
	}
}

// Without a majority nothing is kept for long, and the error says so.
func TestPut_NoMajority_IsRefusedAndNothingStays(t *testing.T) {
	w := newWorld(t, 3)
	w.set(func() { w.down[2], w.down[3] = true, true })
	want := valueOf(1, 100<<10)
	x, err := w.heads[1].Put(t.Context(), want)
	if err == nil || !strings.Contains(err.Error(), "2 heads with a vote have to keep") {
		t.Fatal(err)
	}
	w.until("the file is gone", func() bool { return !w.heads[1].hasFile(x.Blob) })
}

// A head that does not run is not needed, and has the value some time after it runs again.
func TestFollow_HeadWasOff_GetsWhatItsStateNames(t *testing.T) {
	w := newWorld(t, 3)
	w.set(func() { w.down[3] = true })
	want := valueOf(1, 1<<20)
	x := w.put(1, want)
	w.heads[1].name(x)
	w.heads[2].name(x)
	if w.heads[3].hasFile(x.Blob) {
		t.Fatal("a head that does not run has the file")
	}
	if n := w.heads[3].Lacks(); n != 0 {
		t.Errorf("its state names nothing yet, and it lacks %d values", n)
	}
	w.heads[3].name(x)
	if n := w.heads[3].Lacks(); n != 1 {
		t.Errorf("its state has just named a value, and it lacks %d", n)
	}
	w.set(func() { w.down[3] = false })
	w.until("the head has the file", func() bool { return w.heads[3].hasFile(x.Blob) && w.heads[3].Lacks() == 0 })
}

// A flipped byte is found at the next read, and the file is mended from another head.
func TestGet_AByteIsFlipped_ItIsMended(t *testing.T) {
	w := newWorld(t, 3)
	want := valueOf(1, 1<<20)
	x := w.put(1, want)
	w.name(x)
	w.until("all have it", func() bool {
		return w.heads[1].hasFile(x.Blob) && w.heads[2].hasFile(x.Blob) && w.heads[3].hasFile(x.Blob)
	})
	w.heads[1].flip(x.Blob)
	w.heads[2].flip(x.Blob) // also that of the head that is asked first
	w.gets(1, x.Blob, want)
	if err := Check(w.heads[1].dir, x.Blob); err != nil {
		t.Errorf("the file is not mended: %v", err)
	}
	w.until("the other file is mended, too: it was found damaged when it was to be sent", func() bool { return Check(w.heads[2].dir, x.Blob) == nil })
}

// If no head has the value any more, the error says so and names it. While a head is not reached that is not known.
func TestGet_NoHeadHasIt_SaysWhichValueIsLost(t *testing.T) {
	w := newWorld(t, 3)
	x := w.put(1, valueOf(1, 1<<20))
	w.name(x)
	w.until("all have it", func() bool {
		return w.heads[1].hasFile(x.Blob) && w.heads[2].hasFile(x.Blob) && w.heads[3].hasFile(x.Blob)
	})
	w.heads[1].flip(x.Blob)
	w.heads[2].flip(x.Blob)
	w.set(func() { w.down[3] = true })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := w.heads[1].Get(ctx, x.Blob); err == nil || errors.Is(err, record.ErrBlobLost) {
		t.Errorf("the third head was not asked, and yet: %v", err)
	}
	w.set(func() { w.down[3] = false })
	if err := os.Remove(w.heads[3].file(x.Blob)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.heads[1].Get(t.Context(), x.Blob); !errors.Is(err, record.ErrBlobLost) || !strings.Contains(err.Error(), x.Blob.Hash.String()) {
		t.Errorf("got %v", err)
	}
	w.until("a value that nobody has keeps no head from a vote", func() bool { return w.heads[1].Lacks() == 0 })
}

// A value that a head cannot send whole is not taken.
func TestGet_BytesChangeOnTheWay_AreNotTaken(t *testing.T) {
	w := newWorld(t, 2)
	want := valueOf(1, 1<<20)
	x := w.put(1, want)
	w.name(x)
	w.until("both have it", func() bool { return w.heads[1].hasFile(x.Blob) && w.heads[2].hasFile(x.Blob) })
	w.heads[2].flip(x.Blob)
	damage := true
	w.set(func() {
		w.cut = func(_, _ uint32, c net.Conn) net.Conn {
			if damage {
				damage = false
				return &noise{Conn: c}
			}
			return c
		}
	})
	w.gets(2, x.Blob, want)
	if damage {
		t.Fatal("no connection was damaged")
	}
}

// noise changes a byte of what is read.
type noise struct {
	net.Conn
	read int
}

func (n *noise) Read(b []byte) (int, error) {
	m, err := n.Conn.Read(b)
	if n.read += m; n.read > 1000 && m > 0 {
		b[0] ^= 1
	}
	return m, err
}

// A file that no record names goes when its command is applied, and not before.
func TestFollow_NothingNamesAFile_ItGoesAfterItsCommand(t *testing.T) {
	w := newWorld(t, 1)
	h := w.heads[1]
	x, y := w.put(1, valueOf(1, 1<<17)), w.put(1, valueOf(2, 1<<17))
	again := w.put(1, valueOf(1, 1<<17)) // the same value, for another command
	h.name(x)
	h.unname(x.Blob) // deleted; the other command is on its way
	h.Applied(y.Ticket)
	w.until("what nothing names is gone", func() bool { return !h.hasFile(y.Blob) })
	if !h.hasFile(x.Blob) {
		t.Fatal("the file went while a command that names it is on its way")
	}
	h.name(again)
	w.gets(1, x.Blob, valueOf(1, 1<<17))
	h.unname(x.Blob)
	w.until("it is gone as well", func() bool { return !h.hasFile(x.Blob) })
}

// A ticket whose command never comes ends with the grace time, but only when the state has all that was committed.
func TestFollow_CommandNeverComes_FileGoesAfterAFreshRead(t *testing.T) {
	w := newWorld(t, 1)
	h := w.start(1, time.Nanosecond) // the ticket's time is over at once
	h.mu.Lock()
	h.stale = true
	h.mu.Unlock()
	x := w.put(1, valueOf(1, 1<<17))
	h.Store.sweep(t.Context())
	if !h.hasFile(x.Blob) {
		t.Fatal("the file went, and its command may still come")
	}
	h.mu.Lock()
	h.stale = false
	h.mu.Unlock()
	h.Store.sweep(t.Context())
	if h.hasFile(x.Blob) {
		t.Error("the file stays for ever")
	}
}

// A head that starts keeps what is named, removes what is not whole, and drops the rest after the grace time.
func TestOpen_FolderOfAnEarlierRun(t *testing.T) {
	w := newWorld(t, 1)
	x, y := w.put(1, valueOf(1, 1<<17)), w.put(1, valueOf(2, 1<<17))
	w.heads[1].name(x)
	w.heads[1].end()
	half := filepath.Join(w.heads[1].dir, "12"+coming)
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := w.start(1, time.Hour)
	if _, err := os.Stat(half); err == nil {
		t.Error("what is not whole stays")
	}
	if !h.hasFile(y.Blob) {
		t.Error("a file went at once whose command may still be read back")
	}
	w.gets(1, x.Blob, valueOf(1, 1<<17))
	h = w.start(1, time.Nanosecond)
	w.until("what nothing names is gone", func() bool { return !h.hasFile(y.Blob) })
	w.gets(1, x.Blob, valueOf(1, 1<<17))
}

// What is on its way has a bound.
func TestPut_TooMuchOnTheWay_IsRefused(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range maxOnTheWay / record.MaxBlobBytes {
		b := record.Blob{Hash: record.BlobHash{byte(i), 1}, Size: record.MaxBlobBytes}
		if err := s.begin(record.HeldBlob{Blob: b, Ticket: newTicket()}); err != nil {
			t.Fatal(i, err)
		}
		s.installed(b)
	}
	if _, err := s.Put(t.Context(), make([]byte, 1)); !errors.Is(err, errBusy) {
		t.Errorf("got %v", err)
	}
}

// What is no question, a value without a size, and questions of nodes are refused.
func TestServe_WhatMakesNoSense_IsRefused(t *testing.T) {
	w := newWorld(t, 2)
	ask := func(from uint32, q request) error {
		here, there := net.Pipe()
		defer here.Close()
		go func() {
			defer there.Close()
			w.heads[1].Serve(from, there)
		}()
		if err := q.write(here); err != nil {
			return err
		}
		_, _, err := readAnswer(here)
		return err
	}
	good := record.HeldBlob{Blob: record.BlobOf([]byte("value"))}
	for what, c := range map[string]struct {
		from uint32
		q    request
		says string
	}{
		"of a node":   {7, request{askGet, good}, "only a head"},
		"unknown":     {2, request{9, good}, "no question"},
		"too large":   {2, request{askKeep, record.HeldBlob{Blob: record.Blob{Size: record.MaxBlobBytes + 1}}}, "must have 1 to"},
		"of no bytes": {2, request{askGet, record.HeldBlob{}}, "must have 1 to"},
		"not here":    {2, request{askGet, good}, errMissing.Error()},
	} {
		if err := ask(c.from, c.q); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Bytes that are not those of the hash are not kept, whoever brings them.
func TestServe_OtherBytesThanTheHash_AreNotKept(t *testing.T) {
	w := newWorld(t, 2)
	x := record.HeldBlob{Blob: record.BlobOf([]byte("value")), Ticket: newTicket()}
	c, err := w.heads[2].Dial(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := offer(c, x, []byte("other")); err == nil || !strings.Contains(err.Error(), "its hash is another one") {
		t.Errorf("got %v", err)
	}
	if w.heads[1].hasFile(x.Blob) {
		t.Error("the file is there")
	}
}

// unreadable makes the file of a value one that cannot be opened, and returns what makes it as it was.
func (h *playedHead) unreadable(b record.Blob) (again func()) {
	h.w.t.Helper()
	name := h.file(b)
	if err := errors.Join(os.Rename(name, name+".moved"), os.Symlink(name, name)); err != nil { // open: too many levels of symbolic links
		h.w.t.Fatal(err)
	}
	return func() {
		h.w.t.Helper()
		if err := os.Rename(name+".moved", name); err != nil {
			h.w.t.Fatal(err)
		}
	}
}

// A file that cannot be opened for a moment is no lost value: not for its head when it is the only one, and not for another head that asks for it.
func TestGet_FileCannotBeReadForAMoment_IsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		heads int
		asker uint32
	}{{1, 1}, {2, 2}} {
		w := newWorld(t, c.heads)
		want := valueOf(3, 200<<10)
		x := w.put(1, want)
		w.name(x)
		w.until("all have it", func() bool { return w.heads[1].hasFile(x.Blob) && w.heads[c.asker].hasFile(x.Blob) })
		again := w.heads[1].unreadable(x.Blob)
		if c.asker != 1 {
			if err := os.Remove(w.heads[c.asker].file(x.Blob)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := w.heads[c.asker].Get(ctx, x.Blob); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, record.ErrBlobLost) {
			t.Errorf("%d heads: got %v", c.heads, err)
		}
		again()
		w.gets(c.asker, x.Blob, want)
		w.until("nothing is lacking", func() bool { return w.heads[1].Lacks() == 0 && w.heads[c.asker].Lacks() == 0 })
	}
}

// A file that this head cannot read for long is got anew from another one, and one that is brought again is written again.
func TestGet_FileCannotBeRead_AnotherHeadGivesTheValue(t *testing.T) {
	w := newWorld(t, 2)
	want := valueOf(3, 200<<10)
	x := w.put(1, want)
	w.name(x)
	w.until("both have it", func() bool { return w.heads[2].hasFile(x.Blob) })
	w.heads[1].unreadable(x.Blob)
	w.gets(1, x.Blob, want)
	w.heads[2].unreadable(x.Blob)
	w.name(w.put(1, want))
	w.gets(2, x.Blob, want)
}

// A head that comes back while another head's machine is off gets its values from the third one. Each attempt at the one that is off takes dialLimit.
func TestFollow_AnotherHeadsMachineIsOff_CostsOneAttempt(t *testing.T) {
	w := newWorld(t, 3)
	w.set(func() { w.down[3] = true })
	var list []record.HeldBlob
	for i := range 3 * atOnce {
		list = append(list, w.put(2, valueOf(byte(10+i), 100<<10)))
	}
	var attempts atomic.Int32
	w.set(func() {
		w.down[3] = false
		w.cut = func(from, to uint32, c net.Conn) net.Conn {
			if from == 3 && to == 1 {
				attempts.Add(1)
				time.Sleep(dialLimit)
				c.Close()
			}
			return c
		}
	})
	begun := time.Now()
	for _, x := range list {
		w.heads[3].name(x)
	}
	w.until("the third head has all", func() bool { return w.heads[3].Lacks() == 0 })
	if n := attempts.Load(); n > atOnce {
		t.Errorf("%d values took %v and %d attempts at a head that does not answer", len(list), time.Since(begun), n)
	}
	if took := time.Since(begun); took > 2*dialLimit {
		t.Errorf("%d values took %v", len(list), took)
	}
}

// gated is a connection that carries nothing before the gate is open.
type gated struct {
	net.Conn
	gate  <-chan struct{}
	under *atomic.Int32 // connections that are open
}

func (c *gated) Write(b []byte) (int, error) {
	<-c.gate
	return c.Conn.Write(b)
}

func (c *gated) Close() error {
	c.under.Add(-1)
	return c.Conn.Close()
}

// More values on their way to a head than there are conversations wait for their turn, and a dial has dialLimit from then on.
func TestPut_ManyAtOnce_SomeWaitForAPlace(t *testing.T) {
	w := newWorld(t, 2)
	gate := make(chan struct{})
	var under atomic.Int32
	var tooMany atomic.Bool
	w.set(func() {
		w.cut = func(_, to uint32, c net.Conn) net.Conn {
			if to != 2 {
				return c
			}
			if under.Add(1) > TalksAtOnce {
				tooMany.Store(true)
			}
			return &gated{Conn: c, gate: gate, under: &under}
		}
	})
	const puts = 2 * TalksAtOnce
	done := make(chan error, puts)
	for i := range puts {
		go func() {
			_, err := w.heads[1].Put(t.Context(), valueOf(byte(i), 100<<10))
			done <- err
		}()
	}
	w.until("all have begun, and as many as may are on their way", func() bool {
		files, err := os.ReadDir(w.heads[1].dir)
		return err == nil && len(files) == puts && under.Load() >= TalksAtOnce
	})
	time.Sleep(100 * time.Millisecond) // one conversation too many would begin now
	close(gate)
	for range puts {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if tooMany.Load() {
		t.Errorf("more than %d conversations at once", TalksAtOnce)
	}
}
