package gpus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/environ"
)

// How long the driver may take to be loaded, and for an answer after that.
const (
	loadWithin   = 20 * time.Second
	answerWithin = 5 * time.Second
)

// A helper that has ended or does not answer is started again: at once, and
// then with ever more time between.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// Watcher asks eagleray-gpu. Its methods may be called by anyone.
type Watcher struct {
	Devices []Device // as at the start

	helper, library string

	mu     sync.Mutex
	run    *running
	broken error         // why run has no answers any more
	begun  bool          // another is being started
	next   time.Time     // when another may be
	pause  time.Duration // after that one
	closed bool
}

// running is one process of the helper.
type running struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan Answer
}

// Start runs the helper, which opens the library, "" for the machine's own.
func Start(helper, library string) (*Watcher, error) {
	if helper == "" {
		return nil, errors.New("NVML: the program eagleray-gpu, which opens it, is not installed beside this one")
	}
	w := &Watcher{helper: helper, library: library}
	var err error
	if w.run, w.Devices, err = start(helper, library); err != nil {
		return nil, err
	}
	return w, nil
}

func start(helper, library string) (*running, []Device, error) {
	r := &running{cmd: exec.Command(helper, "watch", library), answers: make(chan Answer)}
	r.cmd.Env = environ.Public()
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("NVML: %w", err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("NVML: %w", err)
	}
	if err := r.cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("NVML: %w", err)
	}
	r.in = in
	go func() {
		defer close(r.answers)
		lines := json.NewDecoder(bufio.NewReader(out))
		for {
			var a Answer
			if lines.Decode(&a) != nil {
				_ = r.cmd.Wait() // a daemon that reaps all its children may have the status
				return
			}
			r.answers <- a
		}
	}()
	a, _, err := r.receive(loadWithin)
	if err != nil {
		r.close()
		return nil, nil, err
	}
	return r, a.Devices, nil
}

// receive takes the next answer. Without alive there will be none any more.
func (r *running) receive(within time.Duration) (a Answer, alive bool, err error) {
	select {
	case a, ok := <-r.answers:
		switch {
		case !ok:
			return a, false, errors.New("NVML: the process that asks it has ended")
		case a.Error != "":
			return a, true, errors.New(a.Error)
		default:
			return a, true, nil
		}
	case <-time.After(within):
		return Answer{}, false, fmt.Errorf("NVML: no answer within %v", within)
	}
}

// close ends the process.
func (r *running) close() {
	_ = r.in.Close()
	_ = r.cmd.Process.Kill()
	go func() {
		for range r.answers { // until its output ends
		}
	}()
}

func (w *Watcher) ask(q Request) (Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		w.restart()
		return Answer{}, w.broken
	}
	if err := json.NewEncoder(w.run.in).Encode(q); err != nil {
		return Answer{}, w.lost(fmt.Errorf("NVML: the process that asks it has ended: %w", err))
	}
	a, alive, err := w.run.receive(answerWithin)
	if !alive {
		return Answer{}, w.lost(err)
	}
	w.pause = 0
	return a, err
}

// lost notes that the helper gives no answers any more, and starts another; mu held.
func (w *Watcher) lost(err error) error {
	w.run.close()
	w.retryAfter(err)
	w.restart()
	return err
}

// retryAfter sets when the helper may be started again; mu held.
func (w *Watcher) retryAfter(err error) {
	w.broken = err
	w.next = time.Now().Add(w.pause)
	w.pause = min(max(firstPause, 2*w.pause), longPause)
}

// restart starts the helper again, if it is time to, and nobody waits for it; mu held.
func (w *Watcher) restart() {
	if w.begun || w.closed || time.Now().Before(w.next) {
		return
	}
	w.begun = true
	go func() {
		r, _, err := start(w.helper, w.library)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.begun = false
		switch {
		case err != nil:
			w.retryAfter(err)
		case w.closed:
			r.close()
		default:
			w.run, w.broken = r, nil
		}
	}()
}

// Uses lists what processes hold, of all devices.
func (w *Watcher) Uses() ([]Use, error) {
	a, err := w.ask(Request{})
	return a.Uses, err
}

// Bytes returns the memory of a device, or a part of one (MIG), with a UUID; 0
// if it is not known.
func (w *Watcher) Bytes(uuid string) int64 {
	a, _ := w.ask(Request{UUID: uuid})
	return a.Bytes
}

// Close ends the helper. There are no answers any more.
func (w *Watcher) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed, w.broken = true, errors.New("NVML: the watcher is closed")
		w.run.close()
	}
}
