package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// verb is what a call does.
type verb string

const (
	get  verb = "get"
	put  verb = "put"
	swap verb = "swap" // compare and swap
	del  verb = "del"
	drop verb = "drop" // compare and delete
)

// outcome is what a client was told.
type outcome string

const (
	done     outcome = "done"
	none     outcome = "none"     // get: the key is not there
	conflict outcome = "conflict" // the key has another version
	unknown  outcome = "unknown"  // the change may have been made
	undone   outcome = "undone"   // the call changed nothing, or was a get that failed
)

// call is a call and its answer. It is a line of a history.
type call struct {
	Client   string  `json:"client"`
	Verb     verb    `json:"verb"`
	Key      string  `json:"key"`
	Value    string  `json:"value,omitempty"`    // to be written
	Expected uint64  `json:"expected,omitempty"` // version of swap and drop
	Begin    int64   `json:"begin"`              // ns
	End      int64   `json:"end"`
	Outcome  outcome `json:"outcome"`
	Read     string  `json:"read,omitempty"`    // by get
	Version  uint64  `json:"version,omitempty"` // that get has read, that a write has made, or that is there instead of the expected one
	Why      string  `json:"why,omitempty"`     // of unknown and undone
}

func (c *call) writes() bool { return c.Verb != get }

func (c *call) String() string {
	s := fmt.Sprintf("%d–%d %s: %s %s", c.Begin/1000, c.End/1000, c.Client, c.Verb, c.Key)
	if c.Value != "" {
		s += " = " + c.Value
	}
	if c.Verb == swap || c.Verb == drop {
		s += fmt.Sprintf(" if %d", c.Expected)
	}
	return s + fmt.Sprintf(" → %s %s %d", c.Outcome, c.Read, c.Version)
}

// now returns the time in nanoseconds.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // Linux always has this clock
	}
	return t.Nano()
}

// history is the file into which calls go.
type history struct {
	mu sync.Mutex
	f  *os.File
	w  *bufio.Writer

	calls, writes int
	pause         time.Duration // the longest time without an acknowledged write
	last          int64
}

func newHistory(path string) (*history, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &history{f: f, w: bufio.NewWriterSize(f, 1<<20), last: now()}, nil
}

func (h *history) note(c *call) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	if c.writes() && c.Outcome == done {
		h.writes++
		h.pause = max(h.pause, time.Duration(c.End-h.last))
		h.last = max(h.last, c.End)
	}
	_, err = h.w.Write(append(b, '\n'))
	return err
}

func (h *history) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.w.Flush()
	if e := h.f.Close(); err == nil {
		err = e
	}
	return err
}

// maxHistory is the largest file that is judged.
const maxHistory = 4 << 30

func readHistory(path string) (list []call, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReaderSize(io.LimitReader(f, maxHistory), 1<<20))
	for {
		var c call
		if err := d.Decode(&c); err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s, call %d: %w", path, len(list)+1, err)
		}
		list = append(list, c)
	}
}
