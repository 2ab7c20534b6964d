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
)

// answerWithin bounds how long the driver may take for an answer; the first
// loads it.
const answerWithin = 20 * time.Second

// Watcher asks eagleray-gpu. Its methods may be called by anyone.
type Watcher struct {
	Devices []Device

	mu      sync.Mutex
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan Answer
	broken  error
}

// Start runs the helper, which opens the library, "" for the machine's own.
func Start(helper, library string) (*Watcher, error) {
	if helper == "" {
		return nil, errors.New("NVML: this program comes without eagleray-gpu, which opens it")
	}
	w := &Watcher{cmd: exec.Command(helper, "watch", library), answers: make(chan Answer)}
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("NVML: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("NVML: %w", err)
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("NVML: %w", err)
	}
	w.in = in
	go func() {
		defer close(w.answers)
		lines := json.NewDecoder(bufio.NewReader(out))
		for {
			var a Answer
			if lines.Decode(&a) != nil {
				_ = w.cmd.Wait() // a daemon that reaps all its children may have the status
				return
			}
			w.answers <- a
		}
	}()
	a, err := w.receive()
	if err != nil {
		w.Close()
		return nil, err
	}
	w.Devices = a.Devices
	return w, nil
}

// receive takes the next answer; after a failure there is none any more.
func (w *Watcher) receive() (Answer, error) {
	select {
	case a, ok := <-w.answers:
		switch {
		case !ok:
			w.broken = errors.New("NVML: the process that asks it has ended")
		case a.Error != "":
			return a, errors.New(a.Error)
		default:
			return a, nil
		}
	case <-time.After(answerWithin):
		w.broken = fmt.Errorf("NVML: no answer within %v", answerWithin)
	}
	return Answer{}, w.broken
}

func (w *Watcher) ask(q Request) (Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return Answer{}, w.broken
	}
	if err := json.NewEncoder(w.in).Encode(q); err != nil {
		w.broken = fmt.Errorf("NVML: the process that asks it has ended: %w", err)
		return Answer{}, w.broken
	}
	return w.receive()
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

// Close ends the helper.
func (w *Watcher) Close() {
	_ = w.in.Close()
	_ = w.cmd.Process.Kill()
	go func() {
		for range w.answers { // until its output ends
		}
	}()
}
