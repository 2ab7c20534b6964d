package workers

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// reader is a driver that takes batches, or does not.
type reader struct {
	mu     sync.Mutex
	lines  []string
	unsent int
}

func (r *reader) send(ls []wire.LogLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range ls {
		r.lines = append(r.lines, l.Text)
	}
}

func (r *reader) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unsent
}

func TestSink_Lines_ComeInOrderAndBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{}
		s := NewSink(r.send, r.waiting)
		for i := range 1000 {
			s.Add([]wire.LogLine{{Text: fmt.Sprint(i)}})
		}
		s.Flush(time.Second)
		if len(r.lines) != 1000 || r.lines[999] != "999" || r.lines[0] != "0" {
			t.Errorf("%d lines", len(r.lines))
		}
	})
}

func TestSink_StuckDriver_OldLinesAreDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{unsent: maxUnsent}
		s := NewSink(r.send, r.waiting)
		text := strings.Repeat("x", 1<<20-48)
		for range 40 {
			s.Add([]wire.LogLine{{Text: text}})
		}
		time.Sleep(time.Second)
		if len(r.lines) != 0 {
			t.Errorf("%d lines were sent to a driver that does not read", len(r.lines))
		}
		if s.bytes > maxSinkBytes {
			t.Errorf("%d bytes are kept", s.bytes)
		}
		r.mu.Lock()
		r.unsent = 0
		r.mu.Unlock()
		s.Flush(time.Minute)
		if len(r.lines) != 33 || !strings.HasPrefix(r.lines[0], "8 lines of output were dropped") {
			t.Errorf("%d lines, the first %.60q", len(r.lines), r.lines[0])
		}
	})
}

func TestSink_Flush_IsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{unsent: maxUnsent}
		s := NewSink(r.send, r.waiting)
		s.Add([]wire.LogLine{{Text: "a"}})
		began := time.Now()
		s.Flush(100 * time.Millisecond)
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("took %v", took)
		}
		s.Add([]wire.LogLine{{Text: "b"}})
		time.Sleep(2 * sinkPause) // its goroutine sees that it is closed
	})
}

// When all lines are sent the sink holds no memory for them, and a later line comes all the same.
func TestSink_AllSent_HoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{}
		s := NewSink(r.send, r.waiting)
		for range 2 {
			r.lines = nil
			s.Add([]wire.LogLine{{Text: "a"}, {Text: "b"}})
			time.Sleep(10 * sinkPause)
			synctest.Wait()
			s.mu.Lock()
			if s.lines != nil || s.bytes != 0 || s.running || strings.Join(r.lines, "") != "ab" {
				t.Errorf("it holds %d lines of %d bytes, runs %v, sent %q", len(s.lines), s.bytes, s.running, r.lines)
			}
			s.mu.Unlock()
		}
	})
}

// Finish waits for the outputs that write to the sink, and for what they have added.
func TestSink_Finish_WaitsForTheLastOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{}
		s := NewSink(r.send, r.waiting)
		s.join()
		s.join()
		go func() {
			time.Sleep(time.Second)
			s.leave()
			time.Sleep(time.Second)
			s.Add([]wire.LogLine{{Text: "last"}})
			s.leave()
		}()
		began := time.Now()
		s.Finish(time.Minute)
		if took := time.Since(began); took < 2*time.Second || took > 3*time.Second || len(r.lines) != 1 {
			t.Errorf("after %v it has sent %q", took, r.lines)
		}
		s.join()
		began = time.Now()
		s.Finish(time.Second)
		s.Add([]wire.LogLine{{Text: "late"}})
		if took := time.Since(began); took != time.Second || len(r.lines) != 1 {
			t.Errorf("after %v it has sent %q", took, r.lines)
		}
	})
}
